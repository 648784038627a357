import * as v from "valibot";
import { afterAll, expect, test } from "vitest";
import { ConflictError, defineJob, done, fail, PayloadError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, claimOne, job, pgqueue, rowOf, ticker } from "./jobs.ts";
import { recorded } from "./recorder.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
const { enable, enqueue, finalize, replacePayload } = pgqueue;

test.each([null, '{"a":1}', { $1: ["'"] }])("stores %j instead, and leaves all else as it is", async (payload) => {
  const spec = job({ hash: () => "h" });
  const { id } = await enqueue(db, spec, "old", { delay: "1h" });
  const before = await rowOf(db, id);
  const task = await replacePayload(db, spec, id, payload);
  expect(task).toEqual((await pgqueue.getTask(db, id))[0]);
  expect(await rowOf(db, id)).toEqual({ ...before, payload });
});

test("then enable is the cure of a payload that no longer fits", async () => {
  const spec = defineJob({ queue: "cure", payload: v.object({ n: v.number() }) });
  const { id } = await enqueue(db, job({ queue: "cure" }), { n: "old" });
  await finalize(db, spec, { task: await claimOne(db, spec), result: fail("does not fit") });
  await replacePayload(db, spec, id, { n: 1 });
  expect((await rowOf(db, id)).status).toBe("failed");
  await enable(db, id);
  expect((await claimOne(db, spec)).payload).toEqual({ n: 1 });
});

test("is refused while the task runs, with what to do instead, for jobs and tickers", async () => {
  const [spec, clock] = [job(), ticker()];
  await pgqueue.upsertTicker(db, clock);
  for (const [one, task] of [
    [spec, (await claimNew(db, spec, 1))[0]!],
    [clock, await claimOne(db, clock)],
  ] as const) {
    const refused = replacePayload(db, one, task.id, { cursor: 500 });
    await expect(refused).rejects.toThrow(ConflictError);
    await expect(refused).rejects.toThrow(/is running.*disable\(db, \d+\).*replacePayload.*enable/);
    await finalize(db, one, { task, result: done(), payload: { cursor: 11 } });
    expect((await rowOf(db, task.id)).payload).toEqual({ cursor: 11 });
  }
});

test("resolves to nothing for a task of another queue, or none", async () => {
  const { id } = await enqueue(db, job(), "old");
  expect(await replacePayload(db, job(), id, "new")).toBeUndefined();
  expect(await replacePayload(db, job(), 999_999_999, "new")).toBeUndefined();
  expect((await rowOf(db, id)).payload).toBe("old");
});

test("validates before any SQL", async () => {
  const { db, statements } = recorded(database);
  const spec = defineJob({ queue: "mail", payload: v.object({ n: v.number() }) });
  await expect(replacePayload(db, spec, 1, { n: "1" } as never)).rejects.toMatchObject({ path: "payload.n" });
  await expect(replacePayload(db, job(), 1, [1n])).rejects.toThrow(PayloadError);
  await expect(replacePayload(db, job(), "1" as never, 1)).rejects.toMatchObject({ field: "replacePayload.id" });
  expect(statements).toEqual([]);
});
