import { getTableColumns, is, SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { OptionsError } from "../errors.ts";
import type { Binding } from "./binding.ts";
import type { DrizzleDb } from "./statement.ts";

/**
 * `insert … select` of the given columns, with its arbiter named: one that is not would also swallow a violation of the
 * user's own unique index. Without one, where nothing can be in the way, Postgres has less to do.
 *
 * @param source the rest of the select, from `from` on
 */
export function insertTasks(
  binding: Binding,
  handle: Pick<DrizzleDb, "insert">,
  values: Readonly<Record<string, SQL>>,
  { source = sql``, unique }: { source?: SQL; unique: "hash" | "key" | "none" },
) {
  const { tasks } = binding;
  // By bare names, which are given in our columns: up to 13 Postgres does not know the table's in this place.
  const bare = (column: PgColumn) => sql.identifier(column.name);
  // Our own table types are spelled without the classes of Drizzle, which differ between its majors.
  const insert = handle
    .insert(onlyColumns(tasks as unknown as PgTable, Object.keys(values)))
    .select(sql`select ${sql.join(Object.values(values), sql`, `)} ${source}`);
  if (unique === "none") return insert;
  const arbiter = {
    hash: { target: [tasks.queue, tasks.hash], where: sql`${bare(tasks.hashHeld)}` },
    key: { target: [tasks.queue, tasks.key], where: sql`${bare(tasks.key)} is not null` },
  }[unique];
  return insert.onConflictDoNothing(arbiter);
}

/**
 * Whether nothing holds a hash. To look first spares an insert from waiting for whoever has touched the holder's row, and
 * ids from being burnt. The offset keeps Postgres from a hash join, which reads all hashes of the queue for these few.
 */
export function holdsNoHash({ tasks }: Binding, queue: string, hash: SQL): SQL {
  return sql`not exists (select 1 from ${tasks} as holder
    where holder.queue = ${queue}::text and holder.hash = ${hash} and holder.hash_held offset 0)`;
}

/**
 * The task table with these columns alone, since an insert … select of Drizzle 0.45 names every column of its table. Its
 * columns are those of the table itself: Drizzle remembers their names by the table's.
 */
function onlyColumns(table: PgTable, names: readonly string[]): PgTable {
  const known = narrowed.get(table) ?? new Map<string, PgTable>();
  narrowed.set(table, known);
  const key = names.join("\0");
  const made = known.get(key) ?? makeNarrow(table, names);
  known.set(key, made);
  return made;
}

/** There are as many as sets of options in use. */
const narrowed = new WeakMap<PgTable, Map<string, PgTable>>();

function makeNarrow(table: PgTable, names: readonly string[]): PgTable {
  const all: Record<string, PgColumn> = getTableColumns(table);
  const value = Object.fromEntries(names.map((name) => [name, all[name]]));
  return Object.create(table, { [columnsKey]: { value } });
}

/** Where Drizzle's tables keep their columns, in every copy of it. */
const columnsKey = Symbol.for("drizzle:Columns");

/** The user's own columns of one task: as given, or by Drizzle's `$default` as in an insert of the user's. */
export function extraValues(call: string, { extra }: Binding, columns: object = {}): Record<string, unknown> {
  for (const name of Object.keys(columns)) {
    if (!Object.hasOwn(extra, name))
      throw new OptionsError(`${call}.columns.${name}`, name, "a column of your own task table");
  }
  const values: Record<string, unknown> = {};
  for (const [name, column] of Object.entries(extra)) {
    const given = (columns as Record<string, unknown>)[name];
    const value = given === undefined ? defaultOf(column) : given;
    if (value === null && column.notNull) {
      throw new OptionsError(`${call}.columns.${name}`, value, "a value: the column is not null");
    }
    if (value !== undefined) values[name] = value;
    else if (isRequired(column)) {
      throw new OptionsError(`${call}.columns.${name}`, value, "a value: the column is not null and has no default");
    }
  }
  return values;
}

/** Whether a row cannot be inserted without it. */
export function isRequired(column: PgColumn): boolean {
  return column.notNull && !column.hasDefault && !column.generated && !column.generatedIdentity;
}

function defaultOf(column: PgColumn): unknown {
  return column.defaultFn ? column.defaultFn() : column.onUpdateFn?.();
}

/** The user's own columns as parameters, encoded by their columns. */
export function extraParams(binding: Binding, values: Record<string, unknown>): Record<string, SQL> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      is(value, SQL) ? value : sql`${sql.param(value, binding.extra[name])}`,
    ]),
  );
}
