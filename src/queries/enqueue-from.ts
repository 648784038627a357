import { Column, is, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { OptionsError } from "../errors.ts";
import type { JobSpec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { statementTime } from "./clock.ts";
import { columnType } from "./column-text.ts";
import { checkJobSpec } from "./enqueue-options.ts";
import { holdsNoHash, insertTasks, isRequired } from "./insertion.ts";
import { jsonOf } from "./json-of.ts";
import { momentOf } from "./moment-of.ts";
import { announcement } from "./notify.ts";
import { type Fields, isLeaf, type Leaf, readSelection } from "./selection.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

/** Fields of the select that stand for one value. */
const scalars = ["runAt", "delay", "priority", "maxRetries", "hash"] as const;
const names: readonly string[] = ["payload", ...scalars, "meta", "columns"];

/**
 * One insert … select. The select is a CTE, read twice: to announce what is due, and to insert. In order of hash, by code
 * point as `enqueueMany` inserts, so that the two wait for each other without a deadlock.
 */
export function enqueueFrom(binding: Binding, db: Db, spec: JobSpec, select: unknown): Statement<{ id: number }> {
  checkJobSpec("enqueueFrom", spec);
  const { tasks, notifies } = binding;
  const { ctes, source, fields } = readSelection("enqueueFrom.select", select);
  checkFields(spec, fields);
  const handle = primary("enqueueFrom", db);

  const hash = scalar(fields, "hash");
  const values: Record<string, SQL> = {
    queue: sql`${spec.queue}::text`,
    payload: jsonOf(fields.payload!),
    runAt: runAtOf(fields),
    createdAt: statementTime(),
    ...(hash && { hash: sql`${hash.sql}::text`, hashHeld: sql`${hash.sql} is not null` }),
    ...optional(fields, "priority", (value) => sql`coalesce(${value}::int, 0)::smallint`),
    ...optional(fields, "maxRetries", (value) => sql`(case when ${value}::int >= 0 then ${value}::int end)::smallint`),
    ...(fields.meta && { meta: sql`nullif(${jsonOf(fields.meta)}, 'null')` }),
    ...columnsOf(binding, fields),
  };
  const aliases = Object.keys(values).map((name, i) => [name, sql`item.${sql.identifier(`v${i}`)}`] as const);
  const selected = Object.values(values).map((value, i) => sql`${value} as ${sql.identifier(`v${i}`)}`);
  const items = handle
    .$with("pgqueue_items", { v0: sql`v0` })
    .as(sql`select ${sql.join(selected, sql`, `)} from ${source}`);
  const item: Record<string, SQL> = Object.fromEntries(aliases);

  const due = sql`from (select 1 from pgqueue_items as item where ${item.runAt} <= ${statementTime()} limit 1) as any_due`;
  const announced = announcement(handle, notifies.onInsert, sql`${spec.queue}::text`, due);
  const isNew =
    item.hash && spec.dedup === "retained" ? sql`where ${holdsNoHash(binding, spec.queue, item.hash)}` : sql``;
  const from = sql`from pgqueue_items as item left join pgqueue_announced on true ${isNew}
    ${item.hash ? sql`order by ${item.hash} collate "C"` : sql``}`;

  return statement(
    insertTasks(binding, handle.with(...(ctes as [typeof items]), items, announced), item, {
      source: from,
      unique: item.hash ? "hash" : "none",
    }).returning({ id: tasks.id }),
  );
}

function checkFields(spec: JobSpec, fields: Fields): void {
  for (const [name, field] of Object.entries(fields)) {
    if (!names.includes(name)) throw refused(name, name, `one of the fields ${names.join(", ")}`);
    if ((scalars as readonly string[]).includes(name) && !isLeaf(field)) throw refused(name, field, "one value");
  }
  if (!fields.payload) throw refused("payload", undefined, "a field: the payload of each task");
  if (fields.runAt && fields.delay) throw refused("delay", "delay", "either runAt or delay, not both");
  if (spec.hash && !fields.hash) {
    const expected = "a field: Postgres cannot call the hash function of the spec; select null for no deduplication";
    throw refused("hash", undefined, expected);
  }
}

function refused(name: string, value: unknown, expected: string): OptionsError {
  return new OptionsError(`enqueueFrom.select.${name}`, value, expected);
}

function scalar(fields: Fields, name: (typeof scalars)[number]): Leaf | undefined {
  return fields[name] as Leaf | undefined;
}

function optional(fields: Fields, name: (typeof scalars)[number], value: (leaf: SQL) => SQL): Record<string, SQL> {
  const leaf = scalar(fields, name);
  return leaf ? { [name]: value(leaf.sql) } : {};
}

function runAtOf(fields: Fields): SQL {
  const runAt = scalar(fields, "runAt");
  if (runAt) return sql`coalesce(${momentOf(runAt.sql)}, ${statementTime()})`;
  const delay = scalar(fields, "delay");
  if (!delay) return statementTime();
  return sql`${statementTime()} + greatest(${delay.sql}::float8, 0) * interval '1 millisecond'`;
}

function columnsOf({ extra }: Binding, { columns = {} }: Fields): Record<string, SQL> {
  if (isLeaf(columns)) throw refused("columns", columns, "an object of your own columns");
  for (const name of Object.keys(columns)) {
    if (!Object.hasOwn(extra, name)) throw refused(`columns.${name}`, name, "a column of your own task table");
  }
  for (const [name, column] of Object.entries(extra)) {
    if (Object.hasOwn(columns, name)) continue;
    if (column.defaultFn || column.onUpdateFn) {
      throw refused(`columns.${name}`, undefined, "a field: Postgres cannot call the function of the column's default");
    }
    if (isRequired(column)) {
      throw refused(`columns.${name}`, undefined, "a field: the column is not null and has no default");
    }
  }
  return Object.fromEntries(
    Object.entries(columns).map(([name, field]) => [name, isLeaf(field) ? typed(field, extra[name]!) : jsonOf(field)]),
  );
}

/** What does not tell its type, such as a parameter, has to be given that of its column. */
function typed({ sql: value, field }: Leaf, column: PgColumn): SQL {
  return is(field, Column) ? value : sql`${value}::${columnType(column)}`;
}
