import { sql } from "drizzle-orm";
import { afterAll, expect, test } from "vitest";
import { OptionsError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, claimOne, expire, job, pgqueue, rowOf } from "./jobs.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);
const { extendLease } = pgqueue;

const secondsLeft = async (id: number) => {
  const [row] = await client`
    select extract(epoch from lease_until - statement_timestamp())::float8 as seconds
    from pgqueue_tasks where id = ${id}`;
  return row!.seconds as number;
};

test("moves the end of the lease to the spec's duration from now, and changes nothing else", async () => {
  const spec = job({ leaseDuration: "100s" });
  const [task] = await claimNew(db, spec, 1);
  await client`update pgqueue_tasks set lease_until = now() + interval '1 s' where id = ${task!.id}`;
  const { leaseUntil: _, ...before } = await rowOf(db, task!.id);
  const [extended] = await extendLease(db, spec, task!);
  const { leaseUntil, ...after } = await rowOf(db, task!.id);
  expect(after).toEqual(before);
  expect(extended).toEqual({ id: task!.id, leaseUntil });
  expect(await secondsLeft(task!.id)).toBeGreaterThan(90);
  expect(await secondsLeft(task!.id)).toBeLessThanOrEqual(100);
});

test("takes a duration, and never shortens a lease", async () => {
  const spec = job({ leaseDuration: "100s" });
  const [task] = await claimNew(db, spec, 1);
  await extendLease(db, spec, task!, "1h");
  expect(await secondsLeft(task!.id)).toBeGreaterThan(3_590);
  const { leaseUntil } = await rowOf(db, task!.id);
  expect(await extendLease(db, spec, task!, 1)).toEqual([{ id: task!.id, leaseUntil }]);
  expect(await extendLease(db, spec, task!)).toEqual([{ id: task!.id, leaseUntil }]);
});

test("counts from the statement, not from the start of its transaction", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  await client`update pgqueue_tasks set lease_until = now() where id = ${task!.id}`;
  await db.transaction(async (tx) => {
    await tx.execute(sql`select pg_sleep(0.2)`);
    await extendLease(tx, spec, task!, "5s");
    const [row] = await tx.execute(sql`
      select extract(epoch from lease_until - now())::float8 as seconds from pgqueue_tasks where id = ${task!.id}`);
    expect(row!.seconds).toBeGreaterThanOrEqual(5.2);
  });
});

test("extends those that are held and not locked, and no stale claim", async () => {
  const spec = job({ retryDelay: 0 });
  const [held, stale, locked, ended] = await claimNew(db, spec, 4);
  await expire(db, stale!.id);
  await pgqueue.reap(db, spec);
  const holder = await claimOne(db, spec);
  await pgqueue.finalize(db, spec, { task: ended!, result: { type: "done" } });
  const before = await rowOf(db, stale!.id);
  const { tx, rollback } = await begin(db);
  await pgqueue.finalizeOrThrow(tx, spec, { task: locked!, result: { type: "done" } });
  const extended = await extendLease(db, spec, [ended!, locked!, stale!, held!], "1h");
  expect(extended.map(({ id }) => id)).toEqual([held!.id]);
  await rollback();
  expect(await rowOf(db, stale!.id)).toEqual(before);
  expect(await extendLease(db, spec, [holder, locked!], "1h")).toHaveLength(2);
});

test("an expired lease that nobody took is held again, and the reaper leaves it alone", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  await expire(db, task!.id);
  await extendLease(db, spec, task!);
  expect(await pgqueue.reap(db, spec)).toEqual([]);
});

test.each([0, -1, "5", Number.NaN, 36_526 * 86_400_000])(
  "%o is refused as duration, before any SQL",
  async (duration) => {
    const [task] = await claimNew(db, job({ queue: "q" }), 1);
    expect(() => extendLease(db, job({ queue: "q" }), task!, duration as never)).toThrow(
      expect.objectContaining({ constructor: OptionsError, field: "extendLease.duration" }),
    );
  },
);

test("of none, twice and of another queue", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  expect(await extendLease(db, spec, [])).toEqual([]);
  expect(() => extendLease(db, spec, [task!, task!])).toThrow(OptionsError);
  expect(() => extendLease(db, job(), task!)).toThrow(OptionsError);
});
