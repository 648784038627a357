import { afterAll, expect, test } from "vitest";
import { OptionsError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, claimNew, claimOne, expire, job, pgqueue, rowOf, ticker } from "./jobs.ts";
import { listening } from "./recorder.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db } = database;
afterAll(database.end);
const { enqueue, release } = pgqueue;

test("makes tasks pending again at the same run time, the attempt given back and nothing else changed", async () => {
  const spec = job();
  const runAt = new Date("2026-01-02T03:04:05.678Z");
  const { id } = await enqueue(db, spec, [null], { runAt, meta: { a: 1 }, priority: 3, hash: "h" });
  const before = await rowOf(db, id);
  const [task] = await claimAll(db, spec);
  await pgqueue.markStarted(db, spec, task!);
  expect(await release(db, spec, task!)).toEqual([{ id }]);
  expect(await rowOf(db, id)).toEqual({ ...before, claims: 1 });
  expect(await claimOne(db, spec)).toMatchObject({ id, attempt: 1, claims: 2 });
});

test("gives back one attempt of a task that failed before", async () => {
  const spec = job({ retryDelay: 0 });
  await enqueue(db, spec, 1);
  await pgqueue.finalize(db, spec, { task: await claimOne(db, spec), result: { type: "retry", error: "x" } });
  const task = await claimOne(db, spec);
  await release(db, spec, task);
  expect(await rowOf(db, task.id)).toMatchObject({ attempt: 1, status: "pending", errors: [{ message: "x" }] });
});

test("leaves a ticker's row as before its claim", async () => {
  const spec = ticker();
  const { id } = await pgqueue.upsertTicker(db, spec);
  const before = await rowOf(db, id);
  await release(db, spec, await claimOne(db, spec));
  expect(await rowOf(db, id)).toEqual({ ...before, claims: 1 });
});

test("changes nothing for a stale holder, a disabled task or one that ended", async () => {
  const spec = job({ retryDelay: 0 });
  const [stale, disabled, ended] = await claimNew(db, spec, 3);
  await expire(db, stale!.id);
  await pgqueue.reap(db, spec);
  await pgqueue.disable(db, disabled!.id);
  await pgqueue.finalize(db, spec, { task: ended!, result: { type: "done" } });
  const before = await Promise.all([stale!, disabled!, ended!].map(({ id }) => rowOf(db, id)));
  expect(await release(db, spec, [stale!, disabled!, ended!])).toEqual([]);
  expect(await Promise.all([stale!, disabled!, ended!].map(({ id }) => rowOf(db, id)))).toEqual(before);
});

test("skips a locked row without a wait", async () => {
  const spec = job();
  const [a, b] = await claimNew(db, spec, 2);
  const { tx, rollback } = await begin(db);
  await pgqueue.finalizeOrThrow(tx, spec, { task: a!, result: { type: "done" } });
  expect(await release(db, spec, [a!, b!])).toEqual([{ id: b!.id }]);
  await rollback();
  expect(await release(db, spec, [a!, b!])).toEqual([{ id: a!.id }]);
});

test("of none changes nothing; of a task twice or of another queue is refused", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  expect(await release(db, spec, [])).toEqual([]);
  expect(() => release(db, spec, [task!, task!])).toThrow(OptionsError);
  expect(() => release(db, job(), task!)).toThrow(expect.objectContaining({ field: "release.tasks[0].queue" }));
});

test("is announced once a statement, and only where something was released", async () => {
  const spec = job();
  const tasks = await claimNew(db, spec, 3);
  const notified = await listening(database);
  await release(db, spec, tasks);
  expect(await notified.all()).toEqual([spec.queue]);
  await release(db, spec, tasks);
  expect(await notified.all()).toEqual([]);
  await notified.unlisten();
});
