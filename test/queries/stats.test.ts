import { afterAll, expect, test } from "vitest";
import { done, fail } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, job, pgqueue, ticker } from "./jobs.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
const { enqueue, stats } = pgqueue;

test("is empty where there is nothing", async () => {
  expect(await stats(db)).toEqual([]);
});

test("counts the tasks of each queue by status, as numbers, in order of their names", async () => {
  const spec = job({ queue: "b" });
  const tasks = await claimNew(db, spec, 6);
  await pgqueue.finalize(db, spec, [
    { task: tasks[0]!, result: done() },
    { task: tasks[1]!, result: done() },
    { task: tasks[2]!, result: fail("x") },
  ]);
  await pgqueue.disable(db, tasks[3]!.id);
  const oldest = new Date("2026-01-02T03:04:05.678Z");
  await enqueue(db, spec, 1, { runAt: oldest });
  await enqueue(db, spec, 1);
  await enqueue(db, spec, 1, { delay: "1h" });
  await enqueue(db, job({ queue: "c" }), 1, { delay: "1h" });
  await pgqueue.upsertTicker(db, ticker({ queue: "a" }));
  const [paused] = await pgqueue.pauseQueue(db, "b");
  await pgqueue.pauseQueue(db, "no task");

  const none = {
    pending: 0,
    due: 0,
    running: 0,
    completed: 0,
    failed: 0,
    disabled: 0,
    oldestDue: null,
    pausedAt: null,
  };
  expect(await stats(db)).toEqual([
    { ...none, queue: "a", pending: 1, due: 1, oldestDue: expect.any(Date) },
    {
      queue: "b",
      pending: 3,
      due: 2,
      running: 2,
      completed: 2,
      failed: 1,
      disabled: 1,
      oldestDue: oldest,
      pausedAt: paused!.pausedAt,
    },
    { ...none, queue: "c", pending: 1 },
  ]);
});
