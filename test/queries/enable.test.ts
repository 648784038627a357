import { afterAll, describe, expect, test } from "vitest";
import { done, fail, OptionsError, retry } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, claimNew, claimOne, job, pgqueue, rowOf, ticker } from "./jobs.ts";
import { listening } from "./recorder.ts";
import { begin, blocked } from "./transactions.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
const { disable, enable, enqueue, finalize, getTask } = pgqueue;

const failed = async (spec = job(), payload: unknown = 1) => {
  const { id } = await enqueue(db, spec, payload);
  await finalize(db, spec, { task: await claimOne(db, spec), result: fail("broken") });
  return id;
};

test("makes a failed task pending at once, with all its tries, its errors kept", async () => {
  const spec = job({ maxRetries: 0 });
  const id = await failed(spec);
  const [task] = await enable(db, id);
  expect(task).toEqual((await getTask(db, id))[0]);
  expect(task).toMatchObject({ id, status: "pending", attempt: 0, finishedAt: null, errors: [{ message: "broken" }] });
  expect(await claimOne(db, spec)).toMatchObject({ id, attempt: 1 });
});

test("makes a disabled one pending at once, also where it waited for later", async () => {
  const spec = job();
  const { id } = await enqueue(db, spec, 1, { delay: "1h" });
  await disable(db, id);
  await enable(db, id);
  expect((await claimOne(db, spec)).id).toBe(id);
});

test("makes a failed ticker run again", async () => {
  const spec = ticker();
  const { id } = await pgqueue.upsertTicker(db, spec);
  await finalize(db, spec, { task: await claimOne(db, spec), result: fail("broken") });
  await enable(db, id);
  expect(await claimOne(db, spec)).toMatchObject({ id, attempt: 1 });
});

test("answers none, and changes nothing, for any other status and for no task", async () => {
  const spec = job();
  const [running, completed] = await claimNew(db, spec, 2);
  await finalize(db, spec, { task: completed!, result: done() });
  const pending = await enqueue(db, spec, 1, { delay: "1h" });
  for (const id of [running!.id, completed!.id, pending.id]) {
    const before = await rowOf(db, id);
    expect(await enable(db, id)).toEqual([]);
    expect(await rowOf(db, id)).toEqual(before);
  }
  expect(await enable(db, 999_999_999)).toEqual([]);
});

describe("a hash", () => {
  test("is taken again; while another row holds it the task stays as it is", async () => {
    const spec = job({ dedup: "active", hash: () => "h" });
    const old = await failed(spec);
    const holder = await enqueue(db, spec, 2);
    expect(holder.deduplicated).toBe(false);
    expect(await enable(db, old)).toEqual([]);
    expect(await pgqueue.requeue(db, old)).toEqual([]);
    expect(await rowOf(db, old)).toMatchObject({ status: "failed", hashHeld: false });

    await finalize(db, spec, { task: await claimOne(db, spec), result: done() });
    expect(await enable(db, old)).toMatchObject([{ id: old, status: "pending" }]);
    expect((await rowOf(db, old)).hashHeld).toBe(true);
    expect(await enqueue(db, spec, 3)).toEqual({ id: old, status: "pending", deduplicated: true });
    expect(await claimAll(db, spec)).toHaveLength(1);
  });

  test("retained is the task's own all the time", async () => {
    const spec = job({ hash: () => "h" });
    const id = await failed(spec);
    expect(await enable(db, id)).toHaveLength(1);
    expect(await enqueue(db, spec, 2)).toMatchObject({ id, deduplicated: true });
  });

  test("of another queue is no obstacle", async () => {
    const spec = job({ dedup: "active", hash: () => "h" });
    const id = await failed(spec);
    await enqueue(db, job({ dedup: "active", hash: () => "h" }), 1);
    expect(await enable(db, id)).toHaveLength(1);
  });
});

test("waits for an open transaction on the row, and sees what it did", async () => {
  const spec = job();
  const id = await failed(spec);
  const other = await begin(db);
  await enable(other.tx, id);
  const second = enable(db, id).then((rows) => rows);
  await blocked(database);
  await other.commit();
  expect(await second).toEqual([]);
  expect((await rowOf(db, id)).status).toBe("pending");
});

test("the enabled task has all its tries", async () => {
  const spec = job({ maxRetries: 1, retryDelay: 0 });
  const { id } = await enqueue(db, spec, 1);
  const exhaust = async () => {
    for (let i = 0; i < 2; i++) await finalize(db, spec, { task: await claimOne(db, spec), result: retry("x") });
    expect((await rowOf(db, id)).status).toBe("failed");
  };
  await exhaust();
  await enable(db, id);
  await exhaust();
});

test("is announced where it did something, and only there", async () => {
  const spec = job();
  const id = await failed(spec);
  const notified = await listening(database);
  await enable(db, id);
  expect(await notified.all()).toEqual([spec.queue]);
  await enable(db, id);
  expect(await notified.all()).toEqual([]);
  await notified.unlisten();
});

test.each([undefined, null, "1", 1.5, Number.NaN, 2 ** 53])("%o is refused as id before any SQL", (id) => {
  for (const statement of ["enable", "disable", "requeue", "getTask"] as const) {
    expect(() => pgqueue[statement](db, id as never)).toThrow(
      expect.objectContaining({ constructor: OptionsError, field: `${statement}.id` }),
    );
  }
});
