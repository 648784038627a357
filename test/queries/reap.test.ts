import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { done, OptionsError, retry } from "../../src/index.ts";
import { longestDuration } from "../../src/tasks/duration.ts";
import { transition } from "../../src/tasks/transition.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, claimNew, claimOne, expire, job, makeDue, pgqueue, rowOf, tasks, ticker } from "./jobs.ts";
import { recorded } from "./recorder.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);
const { reap } = pgqueue;

const noClaim = { claimToken: null, claimedBy: null, claimedAt: null, leaseUntil: null, startedAt: null };

/** A row whose lease has run out. */
interface Expired {
  attempt: number;
  maxRetries: number | null;
  started: boolean;
  hashHeld: boolean;
}

async function insertExpired(spec: { queue: string; kind: "job" | "ticker"; key?: string }, cases: Expired[]) {
  const rows = await db
    .insert(tasks)
    .values(
      cases.map(({ attempt, maxRetries, started, hashHeld }, i) => ({
        queue: spec.queue,
        kind: spec.kind,
        key: spec.key ?? null,
        hash: `h${i}`,
        hashHeld,
        status: "running" as const,
        payload: {},
        attempt,
        claims: attempt,
        maxRetries,
        runAt: new Date("2026-01-01T00:00:00Z"),
        claimToken: crypto.randomUUID(),
        claimedBy: "dead",
        claimedAt: new Date("2026-01-01T00:00:00Z"),
        leaseUntil: new Date("2026-01-01T00:01:00Z"),
        startedAt: started ? new Date("2026-01-01T00:00:01Z") : null,
      })),
    )
    .returning({ id: tasks.id });
  return rows.map(({ id }) => id).sort((a, b) => a - b);
}

describe("an expired claim ends as transition says of a retry", () => {
  const expired = fc.record<Expired>({
    attempt: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 2 ** 31 - 2 })),
    maxRetries: fc.option(fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 32_767 }))),
    started: fc.boolean(),
    hashHeld: fc.boolean(),
  });
  const retryDelay = fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.constantFrom(0, 1, longestDuration));
  const policy = fc.record({ maxRetries: fc.integer({ min: 0, max: 6 }), retryDelay });

  async function check(spec: ReturnType<typeof job> | ReturnType<typeof ticker>, cases: Expired[]) {
    const ids = await insertExpired(spec, cases);
    const reaped = await reap(db, spec, { limit: 1_000 });
    expect(reaped.map(({ id }) => id).sort((a, b) => a - b)).toEqual(ids);
    for (const [i, id] of ids.entries()) {
      const row = await rowOf(db, id);
      const { attempt, maxRetries, started, hashHeld } = cases[i]!;
      expect(reaped).toContainEqual({ id, status: row.status });
      expect(row).toMatchObject({ ...noClaim, claims: attempt, hash: `h${i}`, payload: {}, output: null });
      const isLast = attempt > (maxRetries ?? spec.maxRetries);
      if (!started && (attempt > 1 || isLast)) {
        // It may have been claimed beside the one that killed the process: not charged, and not accused.
        expect(row).toMatchObject({
          status: "pending",
          attempt: attempt - 1,
          errors: null,
          finishedAt: null,
          hashHeld,
        });
        continue;
      }
      const next = transition(spec, { attempt, maxRetries }, retry("the lease ran out"));
      expect(row).toMatchObject({
        status: next.status,
        attempt: next.attempt,
        hashHeld: hashHeld && !next.releasesHash,
        errors: [{ attempt, name: "LeaseExpiredError", message: "the lease ran out while dead held it" }],
      });
      const at = Date.parse(row.errors![0]!.at);
      if (next.delay === null) expect(row.runAt).toEqual(new Date("2026-01-01T00:00:00Z"));
      else expect(row.runAt.getTime() - at - next.delay).toBeOneOf([0, 1]);
      if (next.status === "pending") expect(row.finishedAt).toBeNull();
      else expect(row.finishedAt!.getTime()).toBe(at);
    }
  }

  test("for jobs", async () => {
    await fc.assert(
      fc.asyncProperty(
        policy,
        fc.constantFrom("retained" as const, "active" as const),
        fc.array(expired, { minLength: 1, maxLength: 12 }),
        (options, dedup, cases) => check(job({ ...options, dedup }), cases),
      ),
      { numRuns: 40 },
    );
  });

  test("for tickers", async () => {
    await fc.assert(
      fc.asyncProperty(policy, fc.integer({ min: 1, max: longestDuration }), expired, (options, every, one) =>
        check(ticker({ ...options, every }), [one]),
      ),
      { numRuns: 80 },
    );
  });

  test("as finalize does of the same task", async () => {
    for (const spec of [job({ maxRetries: 1 }), job({ maxRetries: 0, dedup: "active", hash: () => "h" })]) {
      await pgqueue.enqueue(db, spec, 1);
      const run = async (end: (task: Awaited<ReturnType<typeof claimOne>>) => PromiseLike<unknown>) => {
        const task = await claimOne(db, spec);
        await end(task);
        const { id, claims, createdAt, runAt, finishedAt, errors, ...state } = await rowOf(db, task.id);
        await pgqueue.requeue(db, id);
        const { at, name, message, stack, ...error } = errors![0]!;
        const start = Date.parse(at);
        return { ...state, error, delay: Math.round((runAt.getTime() - start) / 100), ended: finishedAt !== null };
      };
      const ended = await run((task) =>
        pgqueue.finalize(db, spec, { task, result: retry(new Error("the lease ran out")) }),
      );
      const reaped = await run(async (task) => {
        await expire(db, task.id);
        return reap(db, spec);
      });
      if (ended.status === "failed") ended.delay = reaped.delay;
      expect(reaped).toEqual(ended);
    }
  });
});

test("takes expired claims only, and of its own spec only", async () => {
  const spec = job();
  const other = job();
  const clock = ticker({ queue: spec.queue });
  const [expiredOne, held] = await claimNew(db, spec, 2);
  const [foreign] = await claimNew(db, other, 1);
  await pgqueue.upsertTicker(db, clock);
  const tick = await claimOne(db, clock);
  await expire(db, expiredOne!.id, foreign!.id, tick.id);
  expect(await reap(db, spec)).toEqual([{ id: expiredOne!.id, status: "pending" }]);
  expect(await pgqueue.heldBy(db, spec, [held!])).toMatchObject([{ id: held!.id, holding: "busy", status: "running" }]);
  expect(await reap(db, ticker({ queue: spec.queue, key: "other" }))).toEqual([]);
  expect(await reap(db, clock)).toEqual([{ id: tick.id, status: "pending" }]);
  expect(await reap(db, other)).toHaveLength(1);
});

test("takes at most its limit, those that expired first", async () => {
  const spec = job();
  const tasks = await claimNew(db, spec, 5);
  for (const [i, { id }] of tasks.entries()) {
    await client`
      update pgqueue_tasks set lease_until = now() - ${10 + i} * interval '1 s' where id = ${id}`;
  }
  const ids = async (limit: number) => (await reap(db, spec, { limit })).map(({ id }) => id).sort((a, b) => a - b);
  expect(await ids(2)).toEqual([tasks[3]!.id, tasks[4]!.id]);
  expect(await ids(9)).toEqual([tasks[0]!.id, tasks[1]!.id, tasks[2]!.id]);
});

test("after maxRetries a task that kills its process each time is failed, with its errors", async () => {
  const spec = job({ maxRetries: 2, retryDelay: 0 });
  const { id } = await pgqueue.enqueue(db, spec, "poison");
  for (let crash = 1; crash <= 3; crash++) {
    const [task] = await pgqueue.claim(db, spec, { limit: 1, workerId: `w${crash}` });
    if (crash > 1) await pgqueue.markStarted(db, spec, task!);
    await expire(db, id);
    await reap(db, spec);
  }
  const row = await rowOf(db, id);
  expect(row.status).toBe("failed");
  expect(row.errors!.map(({ attempt, name, message }) => [attempt, name, message])).toEqual([
    [3, "LeaseExpiredError", "the lease ran out while w3 held it"],
    [2, "LeaseExpiredError", "the lease ran out while w2 held it"],
    [1, "LeaseExpiredError", "the lease ran out while w1 held it"],
  ]);
  expect(await claimAll(db, spec)).toEqual([]);
});

test("the latest ten errors are kept", async () => {
  const spec = job({ maxRetries: 100, retryDelay: 0 });
  const { id } = await pgqueue.enqueue(db, spec, 1);
  for (let i = 0; i < 12; i++) {
    await pgqueue.markStarted(db, spec, await claimOne(db, spec));
    await expire(db, id);
    await reap(db, spec);
  }
  expect((await rowOf(db, id)).errors!.map(({ attempt }) => attempt)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
});

test("tasks with an earlier failure that never started get their attempt back, and are spread", async () => {
  const spec = job({ retryDelay: "16s" });
  const before = await claimNew(db, spec, 50);
  await pgqueue.finalize(
    db,
    spec,
    before.map((task) => ({ task, result: retry("first") })),
  );
  await makeDue(db, spec);
  const again = await claimAll(db, spec, { started: false });
  const [poison, ...beside] = again;
  await pgqueue.markStarted(db, spec, poison!);
  await expire(db, ...again.map(({ id }) => id));
  await reap(db, spec);

  expect(await rowOf(db, poison!.id)).toMatchObject({ attempt: 2, errors: [{ attempt: 2 }, { message: "first" }] });
  const rows = await Promise.all(beside.map(({ id }) => rowOf(db, id)));
  for (const row of rows) expect(row).toMatchObject({ status: "pending", attempt: 1, errors: [{ message: "first" }] });
  const times = rows.map(({ runAt }) => runAt.getTime());
  expect(new Set(times).size).toBe(16);
  expect(Math.max(...times) - Math.min(...times)).toBe(15_000);
});

test("a first try is charged although no start was recorded", async () => {
  const spec = job({ maxRetries: 0 });
  const [task] = await claimNew(db, spec, 1);
  await expire(db, task!.id);
  expect(await reap(db, spec)).toEqual([{ id: task!.id, status: "failed" }]);
});

test("a lease extended meanwhile is never taken, in whichever order the two come", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);

  await expire(db, task!.id);
  const heartbeat = await begin(db);
  await pgqueue.extendLease(heartbeat.tx, spec, task!);
  expect(await reap(db, spec)).toEqual([]);
  await heartbeat.commit();
  expect(await reap(db, spec)).toEqual([]);

  await expire(db, task!.id);
  const reaper = await begin(db);
  expect(await reap(reaper.tx, spec)).toHaveLength(1);
  expect(await pgqueue.extendLease(db, spec, task!)).toEqual([]);
  await reaper.rollback();
  expect(await pgqueue.extendLease(db, spec, task!)).toHaveLength(1);
  expect(await reap(db, spec)).toEqual([]);
  expect(await pgqueue.finalize(db, spec, { task: task!, result: done() })).toHaveLength(1);
});

test("leaves out as many of those that expired first as it is told", async () => {
  const spec = job();
  const claimed = await claimNew(db, spec, 5);
  await expire(db, ...claimed.map(({ id }) => id));
  for (const [i, { id }] of claimed.entries()) {
    await client`update pgqueue_tasks set lease_until = lease_until + ${i}::int * interval '1 ms' where id = ${id}`;
  }
  const ids = async (offset: number) => (await reap(db, spec, { limit: 2, offset })).map(({ id }) => id).sort();
  expect(await ids(2)).toEqual([claimed[2]!.id, claimed[3]!.id]);
  expect(await ids(3)).toEqual([]);
  expect(await ids(2)).toEqual([claimed[4]!.id]);
  expect(await ids(0)).toEqual([claimed[0]!.id, claimed[1]!.id]);
});

test.each([{ limit: 0 }, { limit: 10_001 }, { limit: "5" }, { offset: -1 }, { offset: 1_000_001 }, { size: 5 }])(
  "%o is refused before any SQL",
  (options) => {
    const { db, statements } = recorded(database);
    expect(() => reap(db, job(), options as never)).toThrow(OptionsError);
    expect(statements).toEqual([]);
  },
);
