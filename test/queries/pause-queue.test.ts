import { afterAll, expect, test } from "vitest";
import { OptionsError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, job, pgqueue } from "./jobs.ts";
import { begin } from "./transactions.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
const { enqueue, pauseQueue, resumeQueue } = pgqueue;

test("says since when the queue is paused; a second pause keeps that moment", async () => {
  const spec = job();
  const [first] = await pauseQueue(db, spec);
  expect(first).toEqual({ queue: spec.queue, pausedAt: expect.any(Date) });
  expect(await pauseQueue(db, spec.queue)).toEqual([first]);
});

test("is seen at the next claim once it is committed, and stops nothing that runs", async () => {
  const spec = job();
  await enqueue(db, spec, 1);
  const { tx, commit } = await begin(db);
  await pauseQueue(tx, spec);
  const [task] = await claimAll(db, spec);
  await commit();
  await enqueue(db, spec, 2);
  expect(await claimAll(db, spec)).toEqual([]);
  expect(await pgqueue.extendLease(db, spec, task!)).toHaveLength(1);
  expect(await pgqueue.finalize(db, spec, { task: task!, result: { type: "done" } })).toHaveLength(1);
});

test("again after a resume is a new pause", async () => {
  const spec = job();
  await pauseQueue(db, spec);
  await resumeQueue(db, spec);
  expect(await pauseQueue(db, spec)).toMatchObject([{ pausedAt: expect.any(Date) }]);
  await enqueue(db, spec, 1);
  expect(await claimAll(db, spec)).toEqual([]);
});

test.each(["", "a\0", "\ud800", "x".repeat(513), undefined, null, {}, 7])("%o is refused as queue", (queue) => {
  for (const statement of ["pauseQueue", "resumeQueue"] as const) {
    expect(() => pgqueue[statement](db, queue as never)).toThrow(
      expect.objectContaining({ constructor: OptionsError, field: `${statement}.queue` }),
    );
  }
});
