import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import type { Lacks } from "./ability.ts";

/** A Drizzle database on whatever driver. */
export type Database = PgDatabase<PgQueryResultHKT>;

export type DriverName = "pglite" | "postgres-js" | "node-postgres" | "bun-sql";

/**
 * How a cell reaches the server. `prepared`: each statement goes out prepared under a name. `pooled`: through a pooler in
 * transaction mode, where nothing of a session lasts.
 */
export type Mode = "plain" | "prepared" | "pooled";

export interface Handle {
  readonly db: Database;
  close(): Promise<unknown>;
}

export interface Driver {
  lacks(mode: Mode): Lacks;
  open(url: string, mode: Mode): Promise<Handle>;
}

export const unprepared = "the statements of this cell are not prepared";
export const pooler = "nothing of a session lasts behind a pooler in transaction mode";

export async function loadDriver(name: DriverName): Promise<Driver> {
  const { driver } = (await import(`./drivers/${name}.ts`)) as { driver: Driver };
  return driver;
}
