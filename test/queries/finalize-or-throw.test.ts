import { sql } from "drizzle-orm";
import { afterAll, expect, test } from "vitest";
import { done, fail, OptionsError, StaleClaimError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, claimOne, expire, job, pgqueue, rowOf } from "./jobs.ts";
import { begin, blocked, sqlState } from "./transactions.ts";

const database = await createDatabase({ migrated: true });
const { db, client } = database;
afterAll(database.end);
await client`create table receipts (task_id bigint)`;
const { extendLease, finalizeOrThrow } = pgqueue;

const receipts = async (id: number) => (await client`select from receipts where task_id = ${id}`).length;
const write = (tx: typeof db, id: number) => tx.execute(sql`insert into receipts values (${id})`);

test("commits the effect and the end of the task together", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  await db.transaction(async (tx) => {
    await write(tx as never, task!.id);
    expect(await finalizeOrThrow(tx, spec, { task: task!, result: done("sent") })).toBeUndefined();
  });
  expect(await receipts(task!.id)).toBe(1);
  expect(await rowOf(db, task!.id)).toMatchObject({ status: "completed", output: "sent" });
});

test("rolled back with its transaction, the task is still held and can be ended", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  const { tx, rollback } = await begin(db);
  await write(tx as never, task!.id);
  await finalizeOrThrow(tx, spec, { task: task!, result: done() });
  await rollback();
  expect(await receipts(task!.id)).toBe(0);
  expect(await pgqueue.heldBy(db, spec, [task!])).toMatchObject([{ id: task!.id, holding: "busy" }]);
  expect(await pgqueue.finalize(db, spec, { task: task!, result: done() })).toHaveLength(1);
});

test("in a transaction that committed, the outcome sent afterwards changes nothing", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  await db.transaction((tx) => finalizeOrThrow(tx, spec, { task: task!, result: done("first") }));
  expect(await pgqueue.finalize(db, spec, { task: task!, result: fail("later") })).toEqual([]);
  expect(await rowOf(db, task!.id)).toMatchObject({ status: "completed", output: "first", errors: null });
});

test("of a claim that is over throws, so that the business transaction rolls back", async () => {
  const spec = job({ retryDelay: 0 });
  const [stale] = await claimNew(db, spec, 1);
  await expire(db, stale!.id);
  await pgqueue.reap(db, spec);
  const holder = await claimOne(db, spec);
  const business = db.transaction(async (tx) => {
    await write(tx as never, stale!.id);
    await finalizeOrThrow(tx, spec, { task: stale!, result: done("stale") });
  });
  await expect(business).rejects.toThrow(StaleClaimError);
  await expect(business).rejects.toMatchObject({
    code: "PGQUEUE_STALE_CLAIM",
    queue: spec.queue,
    taskId: stale!.id,
  });
  expect(await receipts(stale!.id)).toBe(0);
  expect(await pgqueue.heldBy(db, spec, [holder])).toMatchObject([{ id: holder.id, holding: "busy" }]);
});

test.each(["disabled", "removed"])("of a task that was %s throws", async (how) => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  if (how === "disabled") await pgqueue.disable(db, task!.id);
  else await client`delete from pgqueue_tasks where id = ${task!.id}`;
  await expect(finalizeOrThrow(db, spec, { task: task!, result: done() })).rejects.toThrow(StaleClaimError);
});

test.each(["rolled back", "committed"])("waits for another transaction on the row that is then %s", async (how) => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  const other = await begin(db);
  await pgqueue.disable(other.tx, task!.id);
  const business = db
    .transaction(async (tx) => {
      await write(tx as never, task!.id);
      await finalizeOrThrow(tx, spec, { task: task!, result: done() });
    })
    .then(
      () => "committed",
      (error) => error.constructor,
    );
  await blocked(database);
  await (how === "committed" ? other.commit() : other.rollback());
  expect(await business).toBe(how === "committed" ? StaleClaimError : "committed");
  expect(await receipts(task!.id)).toBe(how === "committed" ? 0 : 1);
  expect((await rowOf(db, task!.id)).status).toBe(how === "committed" ? "disabled" : "completed");
});

test("waits for an extension of its own lease, and goes through", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  const heartbeat = await begin(db);
  await extendLease(heartbeat.tx, spec, task!);
  const ended = finalizeOrThrow(db, spec, { task: task!, result: done() });
  await blocked(database);
  await heartbeat.commit();
  await ended;
  expect((await rowOf(db, task!.id)).status).toBe("completed");
});

test("first in a repeatable-read transaction, no heartbeat breaks it", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  const { tx, commit } = await begin(db, { isolationLevel: "repeatable read" });
  await finalizeOrThrow(tx, spec, { task: task!, result: done() });
  expect(await extendLease(db, spec, task!)).toEqual([]);
  await write(tx as never, task!.id);
  await commit();
  expect((await rowOf(db, task!.id)).status).toBe("completed");
});

test("late in a repeatable-read transaction, after a heartbeat, it is Postgres' own retryable error", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  const { tx, rollback } = await begin(db, { isolationLevel: "repeatable read" });
  await tx.execute(sql`select count(*) from pgqueue_tasks`);
  expect(await extendLease(db, spec, task!)).toHaveLength(1);
  expect(await sqlState(finalizeOrThrow(tx, spec, { task: task!, result: done() }))).toBe("40001");
  await rollback();
  expect(await pgqueue.finalize(db, spec, { task: task!, result: done() })).toHaveLength(1);
});

test("bad input is refused before any SQL, and the transaction goes on", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  await db.transaction(async (tx) => {
    await expect(finalizeOrThrow(tx, job(), { task: task!, result: done() })).rejects.toThrow(OptionsError);
    await expect(finalizeOrThrow(tx, spec, { task: task!, result: done(1n) })).rejects.toMatchObject({
      path: "output",
    });
    await finalizeOrThrow(tx, spec, { task: task!, result: done() });
  });
  expect((await rowOf(db, task!.id)).status).toBe("completed");
});
