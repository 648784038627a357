import { afterAll, expect, test } from "vitest";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, job, pgqueue } from "./jobs.ts";
import { listening } from "./recorder.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
const { enqueue, pauseQueue, resumeQueue } = pgqueue;

test("lets claims through again, of jobs enqueued meanwhile too", async () => {
  const spec = job();
  await enqueue(db, spec, 1);
  await pauseQueue(db, spec);
  await enqueue(db, spec, 2);
  expect(await resumeQueue(db, spec)).toEqual([{ queue: spec.queue, pausedAt: null }]);
  expect((await claimAll(db, spec)).map(({ payload }) => payload)).toEqual([1, 2]);
});

test("of a queue that was never paused answers none", async () => {
  expect(await resumeQueue(db, job())).toEqual([]);
});

test("is announced", async () => {
  const spec = job();
  await pauseQueue(db, spec);
  const notified = await listening(database);
  await resumeQueue(db, spec);
  expect(await notified.all()).toEqual([spec.queue]);
  await notified.unlisten();
});
