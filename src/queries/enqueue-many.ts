import { type SQL, sql } from "drizzle-orm";
import { ConflictError, OptionsError } from "../errors.ts";
import type { TaskStatus } from "../schema/columns.ts";
import type { JobSpec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { chunksOf, type Row } from "./chunks.ts";
import { moment, statementTime } from "./clock.ts";
import { columnText, columnType } from "./column-text.ts";
import { databaseError } from "./database-error.ts";
import { documentRows } from "./documents.ts";
import { type BaseEnqueueOptions, checkJobSpec, type NewTask, newTask } from "./enqueue-options.ts";
import { type Enqueued, hiddenHolder, mostRounds } from "./enqueued.ts";
import { holderOf } from "./holder.ts";
import { extraValues, holdsNoHash, insertTasks } from "./insertion.ts";
import { announcement } from "./notify.ts";
import { checkOpen, type Db, type DrizzleDb, isTransaction, primary, uncached } from "./statement.ts";

export async function enqueueMany(
  binding: Binding,
  db: Db,
  spec: JobSpec,
  items: readonly (BaseEnqueueOptions & { payload: unknown })[],
): Promise<Enqueued[]> {
  checkJobSpec("enqueueMany", spec);
  if (!Array.isArray(items)) throw new OptionsError("enqueueMany.items", items, "an array");
  const rowOfHash = new Map<string, Row>();
  const rows: Row[] = [];
  // Not items.map, which passes over holes.
  const rowOfItem = Array.from(items, (item, i) => {
    const call = `enqueueMany[${i}]`;
    if (typeof item !== "object" || item === null) throw new OptionsError(call, item, "an object with a payload");
    if (!("payload" in item)) throw new OptionsError(`${call}.payload`, undefined, "a value: items are { payload, … }");
    const { payload, ...options } = item;
    const hasOptions = Object.keys(options).length > 0;
    const task = newTask(call, spec, payload, hasOptions ? options : undefined, `${call}.`);
    const twin = task.hash === null ? undefined : rowOfHash.get(task.hash);
    if (twin) return twin;
    const row = toRow(call, binding, task);
    rows.push(row);
    if (row.hash !== null) rowOfHash.set(row.hash, row);
    return row;
  });

  const chunks = chunksOf(rows);
  const handle = primary("enqueueMany", db);
  const insertAll = async (tx: DrizzleDb) => {
    for (const chunk of chunks) {
      // Between two of them a transaction that nobody waits for may end.
      checkOpen(tx);
      await insertChunk(binding, tx, spec, chunk);
    }
  };
  // Where a hash may be held, one insert may not be the end of it.
  const isOneStatement = chunks.length <= 1 && rowOfHash.size === 0;
  // To Drizzle 1.0 a transaction is no database by type; it has all that is used here.
  await (isOneStatement || isTransaction(handle)
    ? insertAll(handle)
    : throughConflicts(rows, () => handle.transaction((tx) => insertAll(tx as unknown as DrizzleDb))));

  const answered = new Set<Row>();
  return rowOfItem.map((row) => {
    const enqueued = row.enqueued!;
    if (!answered.has(row)) {
      answered.add(row);
      return enqueued;
    }
    return { ...enqueued, deduplicated: true };
  });
}

/** A transaction of our own that met another in a deadlock was undone, and is begun again. */
async function throughConflicts(rows: readonly Row[], run: () => Promise<void>): Promise<void> {
  for (let round = 1; ; round++) {
    try {
      return await run();
    } catch (error) {
      const { code } = databaseError(error);
      if (round === mostRounds || (code !== "40P01" && code !== "40001")) throw error;
      for (const row of rows) delete row.enqueued;
    }
  }
}

async function insertChunk(binding: Binding, handle: DrizzleDb, spec: JobSpec, chunk: readonly Row[]): Promise<void> {
  let open = chunk;
  for (let round = 0; open.length > 0; round++) {
    if (round === mostRounds) throw hiddenHolder(spec.queue, open[0]?.hash ?? "");
    await insertRows(binding, handle, spec, open);
    open = open.filter((row) => !row.enqueued);
    if (open.length > 0) await readHolders(binding, handle, spec, open);
    open = open.filter((row) => !row.enqueued);
  }
}

async function insertRows(binding: Binding, handle: DrizzleDb, spec: JobSpec, rows: readonly Row[]): Promise<void> {
  const { tasks, notifies } = binding;
  const hash = rows[0]?.hash === null ? undefined : sql`docs.doc ->> 'hash'`;
  const isBare = rows.every(({ members }) => members === "");
  const documents = rows.map(({ task, members }) => (isBare ? task.payload : `{"payload":${task.payload}${members}}`));
  const delay = sql`coalesce((docs.doc ->> 'delay')::float8, 0) * interval '1 millisecond'`;
  // What no row sets is left to the defaults, which cost nothing.
  const some = (isSet: (row: Row) => boolean, name: string, value: SQL) => (rows.some(isSet) ? { [name]: value } : {});
  const values: Record<string, SQL> = {
    queue: sql`${spec.queue}::text`,
    ...(hash && { hash, hashHeld: sql`true` }),
    payload: isBare ? sql`docs.doc` : sql`docs.doc -> 'payload'`,
    runAt: rows.some(({ task }) => task.runAt || task.delay > 0)
      ? sql`coalesce((docs.doc ->> 'runAt')::timestamptz, ${statementTime()} + ${delay})`
      : statementTime(),
    createdAt: statementTime(),
    ...some(({ task }) => task.priority > 0, "priority", sql`coalesce((docs.doc ->> 'priority')::smallint, 0)`),
    ...some(({ task }) => task.maxRetries !== null, "maxRetries", sql`(docs.doc ->> 'maxRetries')::smallint`),
    ...some(({ task }) => task.meta !== null, "meta", sql`docs.doc -> 'meta'`),
  };
  for (const name of rows[0]?.extra ?? []) {
    values[name] = sql`(docs.doc -> 'columns' ->> ${name}::text)::${columnType(binding.extra[name]!)}`;
  }
  const isNew = hash && spec.dedup === "retained" ? sql`where ${holdsNoHash(binding, spec.queue, hash)}` : sql``;
  const source = sql`from ${documentRows(documents)} left join pgqueue_announced on true ${isNew}
    order by docs.position`;
  const announced = announcement(handle, notifies.onInsert, sql`${spec.queue}::text`, sql`where ${oneIsDue(rows)}`);
  if (hash) {
    const insert = insertTasks(binding, handle.with(announced), values, { source, unique: "hash" });
    return assignByHash(rows, await insert.returning({ id: tasks.id, status: tasks.status, hash: tasks.hash }));
  }
  const insert = insertTasks(binding, handle, values, { source, unique: "none" });
  const inserted = handle
    .$with("inserted")
    .as(insert.returning({ id: tasks.id, status: sql`${tasks.status}`.as("status") }));
  const [all] = await uncached(handle.with(announced, inserted).select(inOneRow).from(sql`inserted`));
  assignInOrder(spec, rows, all!);
}

/**
 * What was inserted, as it was, in one row: a driver takes longer to read thousands than Postgres to insert some of them.
 * Not by id: a trigger or a sequence of the user's may count down.
 */
const inOneRow = {
  ids: sql<string | null>`string_agg(id::text, ',')`,
  /** Null where all are pending, as they are unless a trigger of the user's says otherwise. */
  statuses: sql<string | null>`case when not bool_and(status = 'pending') then string_agg(status, ',') end`,
};

/** By the clock of Postgres. */
function oneIsDue(rows: readonly Row[]): SQL {
  if (rows.some(({ task }) => !task.runAt && task.delay === 0)) return sql`true`;
  const times = rows.flatMap(({ task }) => task.runAt?.getTime() ?? []);
  return times.length > 0 ? sql`${moment(new Date(Math.min(...times)))} <= ${statementTime()}` : sql`false`;
}

function assignByHash(rows: readonly Row[], inserted: { id: number; status: TaskStatus; hash: string | null }[]) {
  const rowOfHash = new Map(rows.map((row) => [row.hash, row]));
  for (const { id, status, hash } of inserted) {
    const row = rowOfHash.get(hash);
    if (row) row.enqueued = { id, status, deduplicated: false };
  }
}

/** Rows get their ids in the order of the document. */
function assignInOrder(spec: JobSpec, rows: readonly Row[], inserted: { ids: string | null; statuses: string | null }) {
  const ids = inserted.ids?.split(",") ?? [];
  const statuses = inserted.statuses?.split(",") as TaskStatus[] | undefined;
  if (ids.length !== rows.length) {
    throw new ConflictError(
      `enqueueMany into "${spec.queue}" inserted ${ids.length} of ${rows.length} tasks; look for a trigger`,
    );
  }
  for (let i = 0; i < rows.length; i++) {
    rows[i]!.enqueued = { id: Number(ids[i]), status: statuses?.[i] ?? "pending", deduplicated: false };
  }
}

/** One look each: by `hash = any(…)` Postgres 13 may read all hashes of a queue that it takes for small. */
async function readHolders(binding: Binding, handle: DrizzleDb, spec: JobSpec, rows: readonly Row[]): Promise<void> {
  const hashes = JSON.stringify(rows.map((row) => row.hash));
  const fields = {
    id: sql`holder.id`.mapWith(Number),
    status: sql<TaskStatus>`holder.status`,
    hash: sql<string>`wanted.hash`,
  };
  const found = sql`json_array_elements_text(${hashes}::text::json) as wanted(hash)
    cross join lateral (${holderOf(binding, spec.queue, sql`wanted.hash`)}) as holder`;
  const holders = await uncached(handle.select(fields).from(found));
  const holderOfHash = new Map(holders.map((holder) => [holder.hash, holder]));
  for (const row of rows) {
    const holder = holderOfHash.get(row.hash!);
    if (holder) row.enqueued = { id: holder.id, status: holder.status, deduplicated: true };
  }
}

function toRow(call: string, binding: Binding, task: NewTask): Row {
  const { hash, runAt, delay } = task;
  let members = "";
  if (hash !== null) members += `,"hash":${JSON.stringify(hash)}`;
  if (runAt) members += `,"runAt":${JSON.stringify(runAt)}`;
  if (delay > 0) members += `,"delay":${delay}`;
  if (task.priority > 0) members += `,"priority":${task.priority}`;
  if (task.maxRetries !== null) members += `,"maxRetries":${task.maxRetries}`;
  if (task.meta !== null) members += `,"meta":${task.meta}`;
  const columns = columnsOf(call, binding, task.columns);
  const extra = Object.keys(columns);
  if (extra.length > 0) members += `,"columns":${JSON.stringify(columns)}`;
  return { hash, members, task, extra: extra.length > 0 ? extra.sort() : none };
}

const none: readonly string[] = [];

/** The user's own columns, as text; null where they are not given, so that as many rows as can be have the same columns. */
function columnsOf(call: string, binding: Binding, given: object | undefined): Record<string, unknown> {
  const { extra } = binding;
  const texts: Record<string, unknown> = {};
  for (const [name, column] of Object.entries(extra)) {
    if (!column.hasDefault && !column.generated) texts[name] = null;
  }
  for (const [name, value] of Object.entries(extraValues(call, binding, given))) {
    texts[name] = columnText(`${call}.columns.${name}`, extra[name]!, value);
  }
  return texts;
}
