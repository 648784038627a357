import { afterAll, expect, test } from "vitest";
import { done, fail, OptionsError, retry } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, claimOne, job, pgqueue, rowOf, ticker } from "./jobs.ts";
import { listening } from "./recorder.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
const { enqueue, finalize, requeue } = pgqueue;

test("makes any task that is not running pending at once, with all its tries", async () => {
  const spec = job({ retryDelay: "1h" });
  const tasks = await claimNew(db, spec, 4);
  await finalize(db, spec, [
    { task: tasks[0]!, result: done("kept") },
    { task: tasks[1]!, result: fail("x") },
    { task: tasks[2]!, result: retry("x") },
  ]);
  await pgqueue.disable(db, tasks[3]!.id);
  for (const { id } of tasks) {
    const [task] = await requeue(db, id);
    expect(task).toEqual((await pgqueue.getTask(db, id))[0]);
    expect(task).toMatchObject({ id, status: "pending", attempt: 0, finishedAt: null });
    expect(await claimOne(db, spec)).toMatchObject({ id, attempt: 1, claims: 2 });
  }
  expect((await rowOf(db, tasks[0]!.id)).output).toBe("kept");
});

test("makes it pending at a moment given, to the millisecond", async () => {
  const { id } = await enqueue(db, job(), 1);
  const runAt = new Date("2031-05-06T07:08:09.123Z");
  expect(await requeue(db, id, runAt)).toMatchObject([{ runAt }]);
  expect((await rowOf(db, id)).runAt).toEqual(runAt);
});

test("makes a ticker that waits for its next tick due", async () => {
  const spec = ticker();
  const { id } = await pgqueue.upsertTicker(db, spec);
  await finalize(db, spec, { task: await claimOne(db, spec), result: done() });
  await requeue(db, id);
  expect((await claimOne(db, spec)).id).toBe(id);
});

test("answers none for a running task and for no task, and changes nothing", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  const before = await rowOf(db, task!.id);
  expect(await requeue(db, task!.id)).toEqual([]);
  expect(await rowOf(db, task!.id)).toEqual(before);
  expect(await requeue(db, 999_999_999)).toEqual([]);
});

test.each([new Date(Number.NaN), "2030-01-01", 0, null])("%o is refused as run time before any SQL", (runAt) => {
  expect(() => requeue(db, 1, runAt as never)).toThrow(
    expect.objectContaining({ constructor: OptionsError, field: "requeue.runAt" }),
  );
});

test("is announced", async () => {
  const spec = job();
  const { id } = await enqueue(db, spec, 1, { delay: "1h" });
  const notified = await listening(database);
  await requeue(db, id);
  expect(await notified.all()).toEqual([spec.queue]);
  await notified.unlisten();
});
