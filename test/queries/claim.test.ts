import { and, eq, gt, sql } from "drizzle-orm";
import { bigint, integer, pgTable, text } from "drizzle-orm/pg-core";
import { afterAll, describe, expect, test } from "vitest";
import { createPgqueue, newClaimToken, OptionsError, pgqueueTables } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, claimNew, claimOne, expire, job, makeDue, pgqueue, queues, rowOf, tasks, ticker } from "./jobs.ts";
import { recorded } from "./recorder.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);
const { claim, enqueue, enqueueMany, finalize } = pgqueue;

describe("what it takes", () => {
  test("by priority, then run time, then id", async () => {
    const spec = job();
    const at = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    const answers = await enqueueMany(db, spec, [
      { payload: 5, priority: 9 },
      { payload: 3, priority: 1, runAt: at(5) },
      { payload: 4, priority: 1, runAt: at(5) },
      { payload: 1, priority: 0, runAt: at(1) },
      { payload: 2, priority: 1, runAt: at(9) },
      { payload: 0, priority: 0, runAt: at(2) },
    ]);
    expect(answers).toHaveLength(6);
    const order: unknown[] = [];
    for (let i = 0; i < 7; i++) order.push((await claim(db, spec, { limit: 1 }))[0]?.payload);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, undefined]);
  });

  test("across all ten levels at once, not more than the limit", async () => {
    const spec = job();
    await enqueueMany(
      db,
      spec,
      Array.from({ length: 40 }, (_, i) => ({ payload: i, priority: i % 10 })),
    );
    const first = await claim(db, spec, { limit: 13 });
    expect(first.map(({ payload }) => payload % 10).sort()).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]);
    expect(await claim(db, spec, { limit: 10_000 })).toHaveLength(27);
  });

  test("nothing of the future", async () => {
    const spec = job();
    await enqueue(db, spec, "later", { delay: "1h" });
    expect(await claim(db, spec, { limit: 10 })).toEqual([]);
    await makeDue(db, spec);
    expect(await claim(db, spec, { limit: 10 })).toHaveLength(1);
  });

  test("only pending tasks", async () => {
    const spec = job();
    const [a, b, c, d, e] = await enqueueMany(db, spec, Array(5).fill({ payload: 1 }));
    await pgqueue.disable(db, a!.id);
    await client`update pgqueue_tasks set status = 'completed' where id = ${b!.id}`;
    await client`update pgqueue_tasks set status = 'failed' where id = ${c!.id}`;
    expect((await claimAll(db, spec)).map(({ id }) => id)).toEqual([d!.id, e!.id]);
    expect(await claim(db, spec, { limit: 5 })).toEqual([]);
  });

  test("nothing while the queue is paused, until it is resumed", async () => {
    const spec = job();
    await enqueue(db, spec, 1);
    const kept = claim(db, spec, { limit: 1 });
    await pgqueue.pauseQueue(db, spec);
    expect(await kept).toEqual([]);
    expect(await claim(db, spec, { limit: 10 })).toEqual([]);
    await pgqueue.resumeQueue(db, spec);
    expect(await claim(db, spec, { limit: 10 })).toHaveLength(1);
  });

  test("jobs for a job's spec and the ticker of its key for a ticker's, in one queue", async () => {
    const queue = job().queue;
    const [jobs, one, two] = [job({ queue }), ticker({ queue, key: "one" }), ticker({ queue, key: "two" })];
    await enqueue(db, jobs, "job");
    await pgqueue.upsertTicker(db, one);
    await pgqueue.upsertTicker(db, two);
    expect((await claim(db, two, { limit: 10 })).map(({ key }) => key)).toEqual(["two"]);
    expect((await claim(db, jobs, { limit: 10 })).map(({ payload, key }) => [payload, key])).toEqual([["job", null]]);
    expect((await claim(db, one, { limit: 10 })).map(({ key }) => key)).toEqual(["one"]);
    expect(await claim(db, ticker({ queue, key: "three" }), { limit: 10 })).toEqual([]);
  });

  test("what the condition lets through, beside all else", async () => {
    const spec = job();
    await enqueueMany(
      db,
      spec,
      Array.from({ length: 6 }, (_, i) => ({ payload: { i } })),
    );
    await enqueue(db, spec, { i: 5 }, { delay: "1h" });
    const where = sql`${tasks.payload} ->> 'i' = '1' or ${tasks.payload} ->> 'i' = '5'`;
    const claimed = await claim(db, spec, { limit: 10, where });
    expect(claimed.map(({ payload }) => payload.i).sort()).toEqual([1, 5]);
    expect(await claim(db, spec, { limit: 10, where: gt(tasks.id, 0) })).toHaveLength(4);
  });
});

describe("what it hands out", () => {
  test("is all that a handler and an end need", async () => {
    const spec = job({ leaseDuration: "90s" });
    const runAt = new Date("2026-01-02T03:04:05.678Z");
    const { id } = await enqueue(db, spec, [null], { runAt, maxRetries: 0, meta: { trace: 1 } });
    const [task] = await claim(db, spec, { limit: 1, workerId: "w'1" });
    const row = await rowOf(db, id);
    expect(task).toEqual({
      id,
      queue: spec.queue,
      key: null,
      attempt: 1,
      maxRetries: 0,
      priority: 0,
      runAt,
      exactRunAt: "2026-01-02 03:04:05.678+00",
      createdAt: row.createdAt,
      meta: { trace: 1 },
      payload: [null],
      token: row.claimToken,
      claims: 1,
      crashed: false,
      columns: {},
    });
    expect(row).toMatchObject({
      status: "running",
      attempt: 1,
      claims: 1,
      claimToken: expect.stringMatching(/^[0-9a-f-]{36}$/),
      claimedBy: "w'1",
      startedAt: row.claimedAt,
      finishedAt: null,
    });
    expect(row.leaseUntil!.getTime() - row.claimedAt!.getTime()).toBe(90_000);
  });

  test("counts the lease from the statement, not from the start of its transaction", async () => {
    const spec = job({ leaseDuration: "30s" });
    await enqueue(db, spec, 1);
    await db.transaction(async (tx) => {
      await tx.execute(sql`select pg_sleep(0.2)`);
      const { id } = await claimOne(tx, spec);
      const [row] = await tx.execute(sql`
        select extract(epoch from lease_until - now())::float8 as lease,
          extract(epoch from claimed_at - now())::float8 as claimed from pgqueue_tasks where id = ${id}`);
      expect(row!.lease).toBeGreaterThanOrEqual(30.2);
      expect(row!.claimed).toBeGreaterThanOrEqual(0.2);
    });
  });

  test("takes what became due and was committed after its transaction began", async () => {
    const spec = job();
    const { tx, commit } = await begin(db);
    await tx.execute(sql`select 1`);
    await enqueue(db, spec, 1);
    expect(await claim(tx, spec, { limit: 1 })).toHaveLength(1);
    await commit();
  });

  test("says of a task whose lease ran out that it crashed", async () => {
    const spec = job({ retryDelay: 0 });
    const { id } = await enqueue(db, spec, 1);
    await claimOne(db, spec);
    await client`update pgqueue_tasks set lease_until = now() - interval '1 s' where id = ${id}`;
    await pgqueue.reap(db, spec);
    await makeDue(db, spec);
    const task = await claimOne(db, spec);
    expect(task).toMatchObject({ crashed: true, attempt: 2, claims: 2 });
    await finalize(db, spec, { task, result: { type: "retry", error: "again" } });
    await makeDue(db, spec);
    expect(await claimOne(db, spec)).toMatchObject({ crashed: false, attempt: 3 });
  });

  test("says no more that a ticker crashed once a run of it succeeded, nor a task that was enabled", async () => {
    const spec = ticker({ retryDelay: 0, every: 1 });
    const { id } = await pgqueue.upsertTicker(db, spec);
    await claimOne(db, spec);
    await expire(db, id);
    await pgqueue.reap(db, spec);
    const suspect = await claimOne(db, spec);
    expect(suspect.crashed).toBe(true);
    await finalize(db, spec, { task: suspect, result: { type: "done" } });
    await makeDue(db, spec);
    const next = await claimOne(db, spec);
    expect(next).toMatchObject({ crashed: false, attempt: 1 });
    await expire(db, id);
    await pgqueue.reap(db, spec);
    await pgqueue.disable(db, id);
    await pgqueue.enable(db, id);
    expect(await claimOne(db, spec)).toMatchObject({ crashed: false, attempt: 1 });
  });

  test("is the token of the caller's making where one is given", async () => {
    const spec = job();
    await enqueueMany(db, spec, Array(2).fill({ payload: 1 }));
    const token = newClaimToken();
    expect((await claim(db, spec, { limit: 2, token })).map((task) => task.token)).toEqual([token, token]);
  });
});

describe("a claim is a value", () => {
  test("awaited twice it takes different tasks under different tokens", async () => {
    const spec = job();
    await enqueueMany(db, spec, Array(3).fill({ payload: 1 }));
    const kept = claim(db, spec, { limit: 1 });
    const claimed = [...(await kept), ...(await kept), ...(await kept)];
    expect(new Set(claimed.map(({ id }) => id)).size).toBe(3);
    expect(new Set(claimed.map(({ token }) => token)).size).toBe(3);
    expect(await kept).toEqual([]);
  });

  test.each(["awaited twice", "prepared", "given a token"])(
    "%s: a stale holder of the same row stays fenced",
    async (how) => {
      const spec = job();
      await enqueue(db, spec, 1);
      const kept = claim(db, spec, how === "given a token" ? { limit: 1, token: newClaimToken() } : { limit: 1 });
      const prepared = (kept as unknown as { prepare(name: string): { execute(): typeof kept } }).prepare(
        `kept_${how}`,
      );
      const run = async () => (await (how === "prepared" ? prepared.execute() : kept))[0]!;

      const stale = await run();
      await client`update pgqueue_tasks set lease_until = now() - interval '1 s' where id = ${stale.id}`;
      await pgqueue.reap(db, spec);
      await makeDue(db, spec);
      const holder = await run();
      expect(holder).toMatchObject({ id: stale.id, claims: stale.claims + 1 });

      const result = { type: "fail", error: "stale" } as const;
      expect(await finalize(db, spec, { task: stale, result })).toEqual([]);
      expect(await pgqueue.release(db, spec, stale)).toEqual([]);
      expect(await pgqueue.extendLease(db, spec, stale)).toEqual([]);
      expect(await pgqueue.markStarted(db, spec, stale)).toEqual([]);
      expect(await pgqueue.heldBy(db, spec, [stale])).toMatchObject([{ id: stale.id, holding: "lost" }]);
      expect(await finalize(db, spec, { task: holder, result: { type: "done" } })).toEqual([{ id: holder.id }]);
    },
  );

  test("has its SQL, in one statement and without the token", async () => {
    const { sql: text, params } = claim(db, job({ queue: "mail" }), { limit: 7 }).toSQL();
    expect(text).toMatch(/^with "gate" as .*"picked" as .*for no key update skip locked.* update "pgqueue_tasks" set/s);
    expect(text).not.toMatch(/\bnow\(\)|clock_timestamp/);
    expect(params).toContain("mail");
    expect(params).toContain(7);
  });

  test("is a CTE of the user's own query", async () => {
    const other = await createDatabase({ migrated: true });
    const orders = pgTable("orders", { id: integer("id").primaryKey(), customer: text("customer") });
    await other.client`create table orders (id int primary key, customer text)`;
    await other.db.insert(orders).values([
      { id: 1, customer: "ann" },
      { id: 2, customer: "bob" },
    ]);
    const spec = job();
    await enqueueMany(other.db, spec, [{ payload: { orderId: 1 } }, { payload: { orderId: 2 } }]);

    const claimed = other.db.$with("claimed").as(claim(other.db, spec, { limit: 10 }) as never) as any;
    const rows = await other.db
      .with(claimed)
      .select({ id: claimed.id, token: claimed.token, claims: claimed.claims, customer: orders.customer })
      .from(claimed)
      .innerJoin(orders, eq(orders.id, sql`(${claimed.payload} ->> 'orderId')::int`))
      .orderBy(orders.id);
    expect(rows.map(({ customer }) => customer)).toEqual(["ann", "bob"]);
    const task = { ...rows[0], queue: spec.queue, attempt: 1, maxRetries: null } as never;
    expect(await finalize(other.db, spec, { task, result: { type: "done" } })).toHaveLength(1);
    await other.end();
  });

  test("carries the user's own columns, filters by them, and works in the user's own schema", async () => {
    const other = await createDatabase({ migrated: true });
    await other.client.unsafe(`
      create schema app; alter table pgqueue_tasks set schema app; alter table pgqueue_queues set schema app;
      alter table app.pgqueue_tasks add column tenant int not null`);
    const { pgSchema } = await import("drizzle-orm/pg-core");
    const { tasks, queues } = pgqueueTables({
      schema: pgSchema("app"),
      columns: { tenant: integer("tenant").notNull() },
    });
    const own = createPgqueue({ tasks, queues });
    const spec = job();
    await own.enqueueMany(
      other.db,
      spec,
      [1, 2, 1].map((tenant) => ({ payload: tenant, columns: { tenant } })),
    );
    const claimed = await own.claim(other.db, spec, { limit: 10, where: eq(tasks.tenant, 1) });
    expect(claimed.map(({ columns }) => columns.tenant)).toEqual([1, 1]);
    const outcomes = claimed.map((task) => ({ task, result: { type: "done" } as const }));
    expect(await own.extendLease(other.db, spec, claimed)).toHaveLength(2);
    expect(await own.finalize(other.db, spec, outcomes)).toHaveLength(2);
    expect(await own.purge(other.db, { queue: spec, status: "completed", olderThan: 0, limit: 9 })).toHaveLength(2);
    await other.end();
  });
});

test.each<[options: unknown, field: string]>([
  [{ limit: 0 }, "claim.limit"],
  [{ limit: 10_001 }, "claim.limit"],
  [{ limit: 1.5 }, "claim.limit"],
  [{ limit: "1" }, "claim.limit"],
  [{}, "claim.limit"],
  [undefined, "claim"],
  [{ limit: 1, workerId: 7 }, "claim.workerId"],
  [{ limit: 1, workerId: "a\0b" }, "claim.workerId"],
  [{ limit: 1, token: "abc" }, "claim.token"],
  [{ limit: 1, started: 1 }, "claim.started"],
  [{ limit: 1, lease: "5m" }, "claim.lease"],
  [{ limit: 1, where: "tenant = 1" }, "claim.where"],
  [{ limit: 1, where: { tenant: 1 } }, "claim.where"],
  [{ limit: 1, after: [{ priority: 0, exactRunAt: "hello", id: 1 }] }, "claim.after.0.exactRunAt"],
  [{ limit: 1, after: [1, 2].map((id) => ({ priority: 0, exactRunAt: "infinity", id })) }, "claim.after"],
])("%o is refused before any SQL, naming %s", (options, field) => {
  const { db, statements } = recorded(database);
  expect(() => claim(db, job(), options as never)).toThrow(
    expect.objectContaining({ constructor: OptionsError, field }),
  );
  expect(statements).toEqual([]);
});

describe("rows that others have locked", () => {
  test("are skipped without a wait, and taken when they are free again", async () => {
    const spec = job();
    const [a, b] = await enqueueMany(db, spec, Array(2).fill({ payload: 1 }));
    const { tx, rollback } = await begin(db);
    await tx.execute(sql`select from ${tasks} where ${tasks.id} = ${a!.id} for no key update`);
    expect((await claimAll(db, spec)).map(({ id }) => id)).toEqual([b!.id]);
    await rollback();
    expect((await claimAll(db, spec)).map(({ id }) => id)).toEqual([a!.id]);
  });

  test("by a child row's foreign key alone are taken", async () => {
    const other = await createDatabase({ migrated: true, client: impatient });
    await other.client`create table notes (task_id bigint references pgqueue_tasks (id) on delete cascade)`;
    const notes = pgTable("notes", { taskId: bigint("task_id", { mode: "number" }) });
    const spec = job();
    const { id } = await enqueue(other.db, spec, 1);
    const { tx, commit } = await begin(other.db);
    await tx.insert(notes).values({ taskId: id });

    const forUpdate = other.db.select({ id: tasks.id }).from(tasks).where(eq(tasks.queue, spec.queue));
    expect(await forUpdate.for("update", { skipLocked: true })).toEqual([]);
    expect(await claim(other.db, spec, { limit: 1 })).toHaveLength(1);
    await commit();
    await other.end();
  });

  test("cost nothing that is not returned: only claimed rows are locked", async () => {
    const spec = job();
    await enqueueMany(
      db,
      spec,
      Array.from({ length: 1_000 }, (_, i) => ({ payload: i, priority: i % 10 })),
    );
    const { tx, commit } = await begin(db);
    expect(await claim(tx, spec, { limit: 50 })).toHaveLength(50);
    const free = await db
      .select({ id: tasks.id })
      .from(tasks)
      .where(and(eq(tasks.queue, spec.queue), sql`${tasks.status} = 'pending'`))
      .for("no key update", { skipLocked: true });
    expect(free).toHaveLength(950);
    await commit();
  });
});

test("the pause of one queue is not that of another", async () => {
  const [paused, running] = [job(), job()];
  await pgqueue.pauseQueue(db, paused.queue);
  expect(await claimNew(db, running, 3)).toHaveLength(3);
  expect(await claimNew(db, paused, 3)).toHaveLength(0);
  expect(await db.select().from(queues).where(eq(queues.queue, running.queue))).toEqual([]);
});
