import { type SQL, sql } from "drizzle-orm";
import { ConflictError, OptionsError } from "../errors.ts";
import type { TaskStatus } from "../schema/columns.ts";
import type { JobSpec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { moment, statementTime } from "./clock.ts";
import { columnText, columnType } from "./column-text.ts";
import { databaseError } from "./database-error.ts";
import { type BaseEnqueueOptions, checkJobSpec, type NewTask, newTask } from "./enqueue-options.ts";
import { type Enqueued, hiddenHolder, mostRounds } from "./enqueued.ts";
import { extraValues, holdsNoHash, insertTasks } from "./insertion.ts";
import { announcement } from "./notify.ts";
import { checkOpen, type Db, type DrizzleDb, isTransaction, primary } from "./statement.ts";

const mostRows = 5_000;
const mostCharacters = 8_000_000;

/** A row to be inserted, on behalf of one item or of all items of its hash. */
interface Row {
  readonly hash: string | null;
  readonly json: string;
  readonly runAt: Date | undefined;
  readonly delay: number;
  /** The user's own columns that it sets. */
  readonly extra: readonly string[];
  enqueued?: Enqueued;
}

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
  const rowOfItem = items.map(({ payload, ...options }, i) => {
    const task = newTask(`enqueueMany[${i}]`, spec, payload, options);
    const twin = task.hash === null ? undefined : rowOfHash.get(task.hash);
    if (twin) return twin;
    const row = toRow(`enqueueMany[${i}]`, binding, task);
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
    return row.hash === null ? enqueued : { ...enqueued, deduplicated: true };
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

/** All callers insert their hashes in the same order, so that overlapping batches wait for each other without a deadlock. */
function chunksOf(rows: readonly Row[]): Row[][] {
  const sorted = rows.toSorted(
    (a, b) => compare(a.hash ?? "", b.hash ?? "") || compare(a.extra.join(), b.extra.join()),
  );
  const chunks: Row[][] = [];
  let characters = 0;
  for (const row of sorted) {
    const chunk = chunks.at(-1);
    characters += row.json.length;
    if (
      !chunk ||
      chunk.length === mostRows ||
      characters > mostCharacters ||
      chunk[0]?.extra.join() !== row.extra.join()
    ) {
      chunks.push([row]);
      characters = row.json.length;
    } else {
      chunk.push(row);
    }
  }
  return chunks;
}

/** By code point, as Postgres orders by collation "C"; by `<` it would be by unit of UTF-16. */
function compare(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    if (a[i] === b[i]) continue;
    const [one, other] = [a.codePointAt(i)!, b.codePointAt(i)!];
    // The second half of a pair: its first half was equal, and so is the order of the whole.
    return one - other;
  }
  return a.length - b.length;
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
  const document = `[${rows.map((row) => row.json).join(",")}]`;
  const values: Record<string, SQL> = {
    queue: sql`${spec.queue}::text`,
    hash: sql`source.item ->> 'hash'`,
    hashHeld: sql`source.item ->> 'hash' is not null`,
    payload: sql`source.item -> 'payload'`,
    runAt: sql`coalesce((source.item ->> 'runAt')::timestamptz,
      ${statementTime()} + (source.item ->> 'delay')::float8 * interval '1 millisecond')`,
    createdAt: statementTime(),
    priority: sql`(source.item ->> 'priority')::smallint`,
    maxRetries: sql`(source.item ->> 'maxRetries')::smallint`,
    meta: sql`nullif(source.item -> 'meta', 'null')`,
  };
  for (const name of rows[0]?.extra ?? []) {
    values[name] = sql`(source.item -> 'columns' ->> ${name}::text)::${columnType(binding.extra[name]!)}`;
  }
  const isNew = holdsNoHash(binding, spec.queue, sql`source.item ->> 'hash'`);
  const source = sql`from jsonb_array_elements(${document}::text::jsonb) with ordinality as source(item, position)
    left join pgqueue_announced on true
    ${spec.dedup === "retained" ? sql`where ${isNew}` : sql``}
    order by source.position`;
  const announced = announcement(handle, notifies.onInsert, sql`${spec.queue}::text`, sql`where ${oneIsDue(rows)}`);
  const inserted = await insertTasks(binding, handle.with(announced), values, {
    source,
    unique: "hash",
  }).returning({ id: tasks.id, status: tasks.status, hash: tasks.hash });
  assignInserted(spec, rows, inserted);
}

/** By the clock of Postgres. */
function oneIsDue(rows: readonly Row[]): SQL {
  if (rows.some(({ runAt, delay }) => !runAt && delay === 0)) return sql`true`;
  const times = rows.flatMap(({ runAt }) => runAt?.getTime() ?? []);
  return times.length > 0 ? sql`${moment(new Date(Math.min(...times)))} <= ${statementTime()}` : sql`false`;
}

/** Rows with a hash are known by it; the others got their ids in the order of the document. */
function assignInserted(
  spec: JobSpec,
  rows: readonly Row[],
  inserted: { id: number; status: TaskStatus; hash: string | null }[],
) {
  const rowOfHash = new Map(rows.filter((row) => row.hash !== null).map((row) => [row.hash, row]));
  const unhashed = rows.filter((row) => row.hash === null);
  const others = inserted.filter(({ hash }) => hash === null).sort((a, b) => a.id - b.id);
  if (others.length !== unhashed.length) {
    throw new ConflictError(
      `enqueueMany into "${spec.queue}" inserted ${others.length} of ${unhashed.length} tasks; look for a trigger`,
    );
  }
  for (const { id, status, hash } of inserted) {
    const row = hash === null ? undefined : rowOfHash.get(hash);
    if (row) row.enqueued = { id, status, deduplicated: false };
  }
  for (const [i, row] of unhashed.entries()) {
    row.enqueued = { id: others[i]!.id, status: others[i]!.status, deduplicated: false };
  }
}

async function readHolders({ tasks }: Binding, handle: DrizzleDb, spec: JobSpec, rows: readonly Row[]): Promise<void> {
  const hashes = JSON.stringify(rows.map((row) => row.hash));
  const holders = await handle
    .select({ id: tasks.id, status: tasks.status, hash: tasks.hash })
    .from(tasks)
    .where(
      sql`${tasks.queue} = ${spec.queue} and ${tasks.hashHeld}
        and ${tasks.hash} = any(array(select jsonb_array_elements_text(${hashes}::text::jsonb)))`,
    )
    .orderBy(tasks.id);
  const holderOf = new Map(holders.map((holder) => [holder.hash, holder]));
  for (const row of rows) {
    const holder = holderOf.get(row.hash);
    if (holder) row.enqueued = { id: holder.id, status: holder.status, deduplicated: true };
  }
}

function toRow(call: string, binding: Binding, task: NewTask): Row {
  const values = { ...nullable(binding), ...extraValues(call, binding, task.columns) };
  const columns = Object.entries(values).map(
    ([name, value]) => [name, columnText(`${call}.columns.${name}`, binding.extra[name]!, value)] as const,
  );
  const runAt = task.runAt ? `"runAt":${JSON.stringify(task.runAt)},` : "";
  const json = `{${runAt}"delay":${task.delay},"hash":${JSON.stringify(task.hash)},"priority":${task.priority},"maxRetries":${task.maxRetries},"meta":${task.meta},"payload":${task.payload},"columns":${JSON.stringify(Object.fromEntries(columns))}}`;
  return { hash: task.hash, json, runAt: task.runAt, delay: task.delay, extra: Object.keys(values).sort() };
}

/** The columns that are null where they are not given, so that as many rows as can be have the same columns. */
function nullable({ extra }: Binding): Record<string, null> {
  const names = Object.keys(extra).filter((name) => !extra[name]?.hasDefault && !extra[name]?.generated);
  return Object.fromEntries(names.map((name) => [name, null]));
}
