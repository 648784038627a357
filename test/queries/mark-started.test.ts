import { afterAll, expect, test } from "vitest";
import { OptionsError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, claimOne, expire, job, pgqueue, rowOf } from "./jobs.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db } = database;
afterAll(database.end);
const { markStarted } = pgqueue;

test("writes down when the handler began, and nothing else", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  const before = await rowOf(db, task!.id);
  expect(await markStarted(db, spec, task!)).toEqual([{ id: task!.id }]);
  const { startedAt, ...after } = await rowOf(db, task!.id);
  expect({ ...after, startedAt: null }).toEqual(before);
  expect(startedAt!.getTime()).toBeGreaterThanOrEqual(before.claimedAt!.getTime());
});

test("changes nothing for a stale holder, and skips a locked row", async () => {
  const spec = job({ retryDelay: 0 });
  const [stale, locked] = await claimNew(db, spec, 2);
  await expire(db, stale!.id);
  await pgqueue.reap(db, spec);
  const holder = await claimOne(db, spec);
  const { tx, rollback } = await begin(db);
  await pgqueue.finalizeOrThrow(tx, spec, { task: locked!, result: { type: "done" } });
  expect(await markStarted(db, spec, [stale!, locked!])).toEqual([]);
  await rollback();
  expect((await rowOf(db, holder.id)).startedAt).toBeNull();
});

test("every new claim begins unstarted", async () => {
  const spec = job({ retryDelay: 0 });
  const [task] = await claimNew(db, spec, 1);
  await markStarted(db, spec, task!);
  await pgqueue.finalize(db, spec, { task: task!, result: { type: "retry", error: "x" } });
  expect((await rowOf(db, task!.id)).startedAt).toBeNull();
  await claimOne(db, spec);
  expect((await rowOf(db, task!.id)).startedAt).toBeNull();
});

test("of another queue is refused", async () => {
  const [task] = await claimNew(db, job(), 1);
  expect(() => markStarted(db, job(), task!)).toThrow(OptionsError);
});
