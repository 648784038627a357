import { afterAll, expect, test } from "vitest";
import { OptionsError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, claimNew, expire, job, pgqueue, rowOf } from "./jobs.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db } = database;
afterAll(database.end);
const { enqueueMany, markStarted } = pgqueue;

async function claimUnstarted(spec: ReturnType<typeof job>, count: number) {
  await enqueueMany(
    db,
    spec,
    Array.from({ length: count }, (_, i) => ({ payload: { i } })),
  );
  return claimAll(db, spec, { started: false });
}

test("writes down when the handler began, and nothing else", async () => {
  const spec = job();
  const [task] = await claimUnstarted(spec, 1);
  const before = await rowOf(db, task!.id);
  expect(before.startedAt).toBeNull();
  expect(await markStarted(db, spec, task!)).toEqual([{ id: task!.id }]);
  const { startedAt, ...after } = await rowOf(db, task!.id);
  expect({ ...after, startedAt: null }).toEqual(before);
  expect(startedAt!.getTime()).toBeGreaterThanOrEqual(before.claimedAt!.getTime());
});

test("changes nothing for a stale holder, and skips a locked row", async () => {
  const spec = job({ retryDelay: 0 });
  const [stale, locked] = await claimUnstarted(spec, 2);
  await expire(db, stale!.id);
  await pgqueue.reap(db, spec);
  const [holder] = await claimAll(db, spec, { started: false });
  expect(holder!.id).toBe(stale!.id);
  const { tx, rollback } = await begin(db);
  await pgqueue.finalizeOrThrow(tx, spec, { task: locked!, result: { type: "done" } });
  expect(await markStarted(db, spec, [stale!, locked!])).toEqual([]);
  await rollback();
  expect((await rowOf(db, holder!.id)).startedAt).toBeNull();
});

test("is undone by the end of the run, and done by the next claim unless told otherwise", async () => {
  const spec = job({ retryDelay: 0 });
  const [task] = await claimUnstarted(spec, 1);
  await markStarted(db, spec, task!);
  await pgqueue.finalize(db, spec, { task: task!, result: { type: "retry", error: "x" } });
  expect((await rowOf(db, task!.id)).startedAt).toBeNull();
  await claimAll(db, spec);
  const row = await rowOf(db, task!.id);
  expect(row.startedAt).toEqual(row.claimedAt);
});

test("without it, a loop of one's own that dies each time is charged each time", async () => {
  const spec = job({ retryDelay: 0, maxRetries: 2 });
  const { id } = await pgqueue.enqueue(db, spec, 1);
  for (let crash = 1; crash <= 3; crash++) {
    const [task] = await claimAll(db, spec);
    expect(task!.attempt).toBe(crash);
    await expire(db, id);
    await pgqueue.reap(db, spec);
  }
  expect(await rowOf(db, id)).toMatchObject({ status: "failed", errors: [{}, {}, {}] });
});

test("of another queue is refused", async () => {
  const [task] = await claimNew(db, job(), 1);
  expect(() => markStarted(db, job(), task!)).toThrow(OptionsError);
});
