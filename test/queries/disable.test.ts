import { afterAll, expect, test } from "vitest";
import { done, fail } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, claimNew, job, pgqueue, rowOf } from "./jobs.ts";
import { begin, blocked } from "./transactions.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
const { disable, enqueue, finalize } = pgqueue;

const noClaim = { claimToken: null, claimedBy: null, claimedAt: null, leaseUntil: null, startedAt: null };

test("takes a pending task out of work", async () => {
  const spec = job();
  const { id } = await enqueue(db, spec, 1);
  const [task] = await disable(db, id);
  expect(task).toEqual((await pgqueue.getTask(db, id))[0]);
  expect(task).toMatchObject({ id, status: "disabled" });
  expect(await claimAll(db, spec)).toEqual([]);
});

test("takes a running task's claim: its holder can change nothing any more", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  expect(await disable(db, task!.id)).toMatchObject([{ status: "disabled", attempt: 1, claimedBy: null }]);
  const before = await rowOf(db, task!.id);
  expect(before).toMatchObject(noClaim);
  expect(await finalize(db, spec, { task: task!, result: done() })).toEqual([]);
  expect(await pgqueue.extendLease(db, spec, task!)).toEqual([]);
  expect(await pgqueue.release(db, spec, task!)).toEqual([]);
  expect(await rowOf(db, task!.id)).toEqual(before);
});

test("answers none for what has ended, is disabled already, or is no task", async () => {
  const spec = job();
  const [completed, failed, disabled] = await claimNew(db, spec, 3);
  await finalize(db, spec, [
    { task: completed!, result: done() },
    { task: failed!, result: fail("x") },
  ]);
  await disable(db, disabled!.id);
  for (const { id } of [completed!, failed!, disabled!]) {
    const before = await rowOf(db, id);
    expect(await disable(db, id)).toEqual([]);
    expect(await rowOf(db, id)).toEqual(before);
  }
  expect(await disable(db, 999_999_999)).toEqual([]);
});

test("waits for a handler's transaction, and finds the task completed", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  const handler = await begin(db);
  await pgqueue.finalizeOrThrow(handler.tx, spec, { task: task!, result: done() });
  const disabled = disable(db, task!.id).then((rows) => rows);
  await blocked(database);
  await handler.commit();
  expect(await disabled).toEqual([]);
  expect((await rowOf(db, task!.id)).status).toBe("completed");
});
