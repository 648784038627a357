import type { PostgresMajor } from "../postgres/binaries.ts";
import { type Major, majors } from "../projects/project.ts";
import type { DriverName, Mode } from "./suite/driver.ts";

/** Of what is supported: Postgres 13 and 18, PGlite 0.3 and the installed one. */
export type Server = "oldest" | "newest";

/** One combination that the suite runs on. */
export interface Cell {
  readonly drizzle: Major;
  readonly driver: DriverName;
  readonly mode: Mode;
  readonly server: Server;
}

/** What the matrix has a row for. */
export interface Row {
  readonly driver: DriverName;
  readonly mode: Mode;
  readonly servers: readonly Server[];
}

export const rows: readonly Row[] = [
  { driver: "pglite", mode: "plain", servers: ["oldest", "newest"] },
  { driver: "postgres-js", mode: "plain", servers: ["oldest", "newest"] },
  { driver: "node-postgres", mode: "plain", servers: ["oldest", "newest"] },
  { driver: "bun-sql", mode: "plain", servers: ["oldest", "newest"] },
  { driver: "postgres-js", mode: "prepared", servers: ["newest"] },
  { driver: "node-postgres", mode: "prepared", servers: ["newest"] },
  { driver: "bun-sql", mode: "prepared", servers: ["newest"] },
  { driver: "postgres-js", mode: "pooled", servers: ["newest"] },
  { driver: "node-postgres", mode: "pooled", servers: ["newest"] },
];

/** Prepared plans and poolers have nothing to do with Drizzle's major: one is enough. */
export function majorsOf({ mode }: Pick<Row, "mode">): readonly Major[] {
  return mode === "plain" ? majors : ["0.45"];
}

export const cells: readonly Cell[] = rows.flatMap(({ servers, ...row }) =>
  majorsOf(row).flatMap((drizzle) => servers.map((server) => ({ ...row, drizzle, server }))),
);

export function rowName({ driver, mode }: Pick<Row, "driver" | "mode">): string {
  if (mode === "prepared") return `${driver}, prepared`;
  return mode === "pooled" ? `${driver}, PgBouncer` : driver;
}

export function cellName(cell: Cell): string {
  return `${rowName(cell)} on drizzle ${cell.drizzle}, ${serverName(cell)}`;
}

function serverName({ driver, server }: Cell): string {
  if (driver === "pglite") return server === "oldest" ? "PGlite 0.3" : "PGlite";
  return `Postgres ${postgresMajor[server]}`;
}

export const postgresMajor = { oldest: "13", newest: "18" } as const satisfies Record<Server, PostgresMajor>;
