import { getTableName, type QueryPromise, type SQL, sql, type Table } from "drizzle-orm";
import type { withReplicas } from "drizzle-orm/pg-core";
import { OptionsError } from "../errors.ts";
import { transactionHasEnded } from "./access-error.ts";

/**
 * Drizzle's own type of a Postgres database or transaction on any driver, in either major: for functions of yours that take
 * the database of production as well as that of a test.
 *
 * @example
 * export const checkOut = (db: AnyDatabase, cart: Cart) => db.transaction(async (tx) => { … });
 */
export type DrizzleDb = Parameters<typeof withReplicas>[0];

/** A database or transaction of any Postgres driver of Drizzle, of either major and of any copy of drizzle-orm. */
export interface Db {
  select: unknown;
  insert: unknown;
  update: unknown;
  delete: unknown;
  with: unknown;
  $with: unknown;
  refreshMaterializedView: unknown;
  $cache: unknown;
  // What these take differs between drivers, majors and copies of Drizzle; anything narrower refuses some of them.
  execute(query: any): PromiseLike<unknown>;
  transaction<T>(run: (tx: any) => Promise<T>, config?: any): Promise<T>;
}

type Field<T> = SQL.Aliased<T>;
type Fields<Row> = {
  [K in keyof Row]: K extends "columns" ? { [C in keyof Row[K]]: Field<Row[K][C]> } : Field<Row[K]>;
};

/** A Drizzle query builder whose rows are `Row`: await it, `.toSQL()` it, or give it to `db.$with(name).as(…)`. */
export interface Statement<Row> extends QueryPromise<Row[]> {
  readonly _: { selectedFields: Fields<Row>; result: Row[]; config?: unknown };
  getSQL(): SQL;
  toSQL(): { sql: string; params: unknown[] };
}

/** The types of Drizzle's builders differ between its majors; this is the one place where they become ours. */
export function statement<Row>(builder: unknown): Statement<Row> {
  return builder as Statement<Row>;
}

/** A select that is never answered by Drizzle's cache, which knows neither rollbacks nor what CTEs have changed. */
export function uncached<B extends object>(builder: B & { $withCache?(config: false): unknown }): B {
  builder.$withCache?.(false);
  return builder;
}

/**
 * The handle that statements are built on. Of a database with replicas it is the primary: Drizzle would send what begins
 * with a CTE, such as a claim, to a replica.
 */
export function primary(call: string, db: Db): DrizzleDb {
  const handle = (db as (Db & { $primary?: Db }) | undefined)?.$primary ?? db;
  if (
    typeof handle?.select === "function" &&
    typeof handle.$with === "function" &&
    "refreshMaterializedView" in handle &&
    // CockroachDB of Drizzle 1.0 has all the rest.
    "$cache" in handle
  ) {
    checkOpen(handle);
    // Checked just now, by what it can do: it may come from another copy of Drizzle, whose classes are others.
    return handle as unknown as DrizzleDb;
  }
  throw new OptionsError(`${call}.db`, db, "a Drizzle database or transaction on Postgres");
}

/**
 * Refuses a transaction of node-postgres after its end, while its client is idle: it would run the statement by itself. A
 * client that has begun another transaction does not show whose it is; postgres.js shows nothing.
 *
 * @throws ConflictError
 */
export function checkOpen(handle: unknown): void {
  const { session } = handle as { session?: { client?: { _txStatus?: unknown } } };
  if ("rollback" in (handle as object) && session?.client?._txStatus === "I") throw transactionHasEnded();
}

/** Whether the caller's own transaction is open already: only a transaction can be rolled back. */
export function isTransaction(handle: DrizzleDb): boolean {
  return "rollback" in handle;
}

/** The table's bare name, as `for update of` wants it: Drizzle 0.45 would put the schema before it. */
export function lockName(table: Table): SQL {
  return sql`${sql.identifier(getTableName(table))}`;
}
