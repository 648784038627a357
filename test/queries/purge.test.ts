import { afterAll, expect, test } from "vitest";
import { OptionsError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { idsOf, job, pgqueue, rowOf, tasks, ticker } from "./jobs.ts";
import { recorded } from "./recorder.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);
const { enqueue, purge } = pgqueue;

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
const insertFinished = async (queue: string, status: "completed" | "failed", days: number[], more = {}) => {
  const rows = await db
    .insert(tasks)
    .values(days.map((day) => ({ queue, status, payload: {}, finishedAt: daysAgo(day), ...more })))
    .returning({ id: tasks.id });
  return rows.map(({ id }) => id);
};

test("removes what ended before the time given, of its queue and status alone", async () => {
  const spec = job();
  const { queue } = spec;
  const [old, young] = await insertFinished(queue, "completed", [8, 6]);
  const [failed] = await insertFinished(queue, "failed", [8]);
  const [foreign] = await insertFinished(job().queue, "completed", [8]);
  const { id: pending } = await enqueue(db, spec, 1);
  expect(await purge(db, { queue, status: "completed", olderThan: "1w", limit: 10 })).toEqual([{ id: old }]);
  expect(await idsOf(db, spec)).toEqual([young, failed, pending]);
  expect(await purge(db, { queue: spec, status: "failed", olderThan: "1w", limit: 10 })).toEqual([{ id: failed }]);
  expect((await rowOf(db, foreign!)).status).toBe("completed");
});

test("removes at most its limit, the oldest first", async () => {
  const { queue } = job();
  const ids = await insertFinished(queue, "failed", [3, 5, 4, 9]);
  const purged = async () =>
    (await purge(db, { queue, status: "failed", olderThan: 0, limit: 2 })).map(({ id }) => id).sort((a, b) => a - b);
  expect(await purged()).toEqual([ids[1], ids[3]]);
  expect(await purged()).toEqual([ids[0], ids[2]]);
  expect(await purged()).toEqual([]);
});

test("never removes a ticker, so its payload is not reset", async () => {
  const spec = ticker();
  await insertFinished(spec.queue, "failed", [30], { kind: "ticker", key: spec.key, payload: { cursor: 81_234 } });
  await insertFinished(spec.queue, "failed", [30]);
  expect(await purge(db, { queue: spec, status: "failed", olderThan: 0, limit: 10 })).toHaveLength(1);
  await pgqueue.upsertTicker(db, spec);
  const [id] = await idsOf(db, spec);
  expect(await rowOf(db, id!)).toMatchObject({ payload: { cursor: 81_234 }, status: "failed" });
});

test("frees a retained hash", async () => {
  const spec = job({ hash: () => "h" });
  await insertFinished(spec.queue, "completed", [1], { hash: "h", hashHeld: true });
  expect(await enqueue(db, spec, 1)).toMatchObject({ deduplicated: true });
  await purge(db, { queue: spec, status: "completed", olderThan: "1h", limit: 1 });
  expect(await enqueue(db, spec, 1)).toMatchObject({ deduplicated: false });
});

test("skips a row that is locked, without a wait", async () => {
  const { queue } = job();
  const [locked, free] = await insertFinished(queue, "failed", [3, 3]);
  const { tx, rollback } = await begin(db);
  await pgqueue.replacePayload(tx, job({ queue }), locked!, "new");
  expect(await purge(db, { queue, status: "failed", olderThan: 0, limit: 9 })).toEqual([{ id: free }]);
  await rollback();
  expect(await purge(db, { queue, status: "failed", olderThan: 0, limit: 9 })).toEqual([{ id: locked }]);
});

test("takes the user's child rows along as their foreign key says", async () => {
  const other = await createDatabase({ migrated: true });
  await other.client`create table notes (task_id bigint references pgqueue_tasks (id) on delete cascade)`;
  const { queue } = job();
  const [row] = await other.client`
    insert into pgqueue_tasks (queue, status, payload, finished_at) values (${queue}, 'completed', '1', now()) returning id`;
  await other.client`insert into notes values (${row!.id})`;
  await purge(other.db, { queue, status: "completed", olderThan: 0, limit: 1 });
  expect(await other.client`select from notes`).toHaveLength(0);
  await other.end();
});

const good = { queue: "q", status: "failed", olderThan: "1d", limit: 1 };
test.each<[options: object, field: string]>([
  [{ ...good, limit: 0 }, "purge.limit"],
  [{ ...good, limit: 100_001 }, "purge.limit"],
  [{ ...good, status: "pending" }, "purge.status"],
  [{ ...good, olderThan: "7" }, "purge.olderThan"],
  [{ ...good, olderThan: -1 }, "purge.olderThan"],
  [{ ...good, queue: "" }, "purge.queue"],
  [{ ...good, queue: undefined }, "purge.queue"],
  [{ ...good, kind: "job" }, "purge.kind"],
  [{}, "purge.queue"],
])("%o is refused before any SQL, naming %s", (options, field) => {
  const { db, statements } = recorded(database);
  expect(() => purge(db, options as never)).toThrow(expect.objectContaining({ constructor: OptionsError, field }));
  expect(statements).toEqual([]);
});

test("counts from the statement", async () => {
  const spec = job();
  const [id] = await insertFinished(spec.queue, "completed", [0]);
  await client`update pgqueue_tasks set finished_at = statement_timestamp() where id = ${id!}`;
  expect(await purge(db, { queue: spec, status: "completed", olderThan: "1m", limit: 1 })).toEqual([]);
  expect(await purge(db, { queue: spec, status: "completed", olderThan: 0, limit: 1 })).toHaveLength(1);
});
