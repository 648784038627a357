import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ConflictError, createWorker, done, fail, OptionsError, retry, skip } from "../../src/index.ts";
import { at, createTestDatabase, drain, enqueued, rollBack, type TestDatabase } from "../../src/testing/index.ts";
import { daily, enqueue, mail, orders, pgqueue, schema, tasks } from "./shop.ts";

let database: TestDatabase<typeof schema>;
beforeAll(async () => {
  database = await createTestDatabase({ schema });
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.db.delete(tasks);
  await database.db.delete(orders);
});

const createShopWorker = () => createWorker({ db: database.db, pgqueue, onEvent: () => {} });
const readyWorker = () => createShopWorker().register(mail, () => {});
const minutes = (a: Date, b: Date) => (b.getTime() - a.getTime()) / 60_000;
const gaps = (runs: readonly { at: Date }[]) => runs.slice(1).map((run, i) => minutes(runs[i]!.at, run.at));

describe("drain", () => {
  test("runs what is due and leaves the rest", async () => {
    await enqueue(database.db, mail, { to: "now" });
    await enqueue(database.db, mail, { to: "later" }, { delay: "1m" });
    const seen: string[] = [];
    const worker = createShopWorker().register(mail, (job) => void seen.push(job.payload.to));
    const runs = await drain(worker);
    expect(seen).toEqual(["now"]);
    expect(runs).toEqual([
      {
        at: expect.any(Date),
        queue: "mail",
        taskId: expect.any(Number),
        attempt: 1,
        result: "done",
        status: "completed",
      },
    ]);
  });

  test("names a table that the test's schema lacks", async () => {
    const half = await createTestDatabase({ schema: { tasks } });
    const worker = createWorker({ db: half.db, pgqueue }).register(mail, () => {});
    await expect(drain(worker)).rejects.toMatchObject({ name: "SchemaError", missing: "pgqueue_queues" });
    await half.close();
  });

  test("goes on under faked timers", async () => {
    vi.useFakeTimers();
    try {
      await enqueue(database.db, mail, { to: "x" });
      expect(await drain(readyWorker())).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test("moves time through retries, each after its delay, to the end of tries", async () => {
    await enqueue(database.db, mail, { to: "x" });
    const worker = createShopWorker().register(mail, () => {
      throw new Error("away");
    });
    const runs = await drain(worker, { until: "1h" });
    expect(runs.map(({ attempt, result, status }) => [attempt, result, status])).toEqual([
      [1, "retry", "pending"],
      [2, "retry", "pending"],
      [3, "retry", "pending"],
      [4, "retry", "failed"],
    ]);
    expect(gaps(runs)).toEqual([1, 2, 3]);
    expect(runs[0]!.error).toEqual(new Error("away"));
    const [task] = await enqueued(database.db, mail);
    expect(task?.errors?.map(({ at }) => at)).toEqual(runs.map((run) => run.at.toISOString()).reverse());
    expect(task?.finishedAt).toEqual(runs.at(-1)!.at);
  });

  test("stops at the moment it is given, not after it", async () => {
    await enqueue(database.db, mail, { to: "x" });
    const worker = createShopWorker().register(mail, () => retry("no"));
    expect(await drain(worker, { until: 59_999 })).toHaveLength(1);
    expect(await drain(worker, { until: 1 })).toHaveLength(1);
  });

  test("takes a Date, and goes on from there at the next drain", async () => {
    const worker = createShopWorker().register(daily, () => {});
    const until = new Date(Date.now() + 86_400_000 * 2.5);
    expect(await drain(worker, { until })).toHaveLength(3);
    expect(await drain(worker)).toHaveLength(0);
    expect(await drain(worker, { until: "13h" })).toHaveLength(1);
    expect(await drain(worker, { until: "1d" })).toHaveLength(1);
    await expect(drain(worker, { until: new Date(0) })).rejects.toThrow(/drain\.until: expected a moment from 20/);
  });

  test("moves time through a month of ticks and a job's retries, in order", async () => {
    let tries = 0;
    await enqueue(database.db, mail, { to: "x" });
    const worker = createShopWorker()
      .register(mail, () => (++tries < 4 ? retry("not yet") : done()))
      .register(daily, (job) => void job.payload.page++);
    const runs = await drain(worker, { until: "30d" });
    expect(runs.map(({ at }) => at)).toEqual(runs.map(({ at }) => at).sort((a, b) => a.getTime() - b.getTime()));
    expect(runs.filter(({ queue }) => queue === "mail").map(({ result }) => result)).toEqual([
      "retry",
      "retry",
      "retry",
      "done",
    ]);
    expect(gaps(runs.filter(({ queue }) => queue === "daily"))).toEqual(Array(30).fill(1440));
    expect(await enqueued(database.db, daily)).toMatchObject([{ payload: { page: 32 } }]);
  });

  test("knows every result of a ticker", async () => {
    const results = [done(), skip("no"), retry("a"), done(), fail("end")];
    const worker = createShopWorker().register(daily, () => results.shift()!);
    const runs = await drain(worker, { until: "30d" });
    expect(runs.map(({ result, status }) => `${result} ${status}`)).toEqual([
      "done pending",
      "skip pending",
      "retry pending",
      "done pending",
      "fail failed",
    ]);
    expect(gaps(runs)).toEqual([1440, 1440, 0.5, 1440]);
  });

  test("gives its moment to what a handler enqueues", async () => {
    const worker = createShopWorker()
      .register(daily, async (job) => {
        await enqueue(database.db, mail, { to: `page ${job.payload.page++}` }, { delay: "1h" });
      })
      .register(mail, () => {});
    const runs = await drain(worker, { until: "2d" });
    expect(runs.map(({ queue }) => queue)).toEqual(["daily", "mail", "daily", "mail", "daily"]);
    expect(gaps(runs)).toEqual([60, 1380, 60, 1380]);
  });

  test("lets leases run out", async () => {
    const { id } = await enqueue(database.db, mail, { to: "x" });
    const [held] = await pgqueue.claim(database.db, mail, { limit: 1 });
    expect(held?.id).toBe(id);
    const worker = createShopWorker().register(mail, () => {});
    expect(await drain(worker, { until: "4m" })).toEqual([]);
    const [run] = await drain(worker, { until: "10m" });
    expect(run).toMatchObject({ taskId: id, attempt: 2, result: "done" });
    const [task] = await enqueued(database.db, mail);
    expect(task?.errors?.[0]?.name).toBe("LeaseExpiredError");
  });

  test("leaves paused queues and other specs alone", async () => {
    await enqueue(database.db, mail, { to: "x" });
    await pgqueue.pauseQueue(database.db, mail);
    const worker = createShopWorker().register(mail, () => {});
    expect(await drain(worker, { until: "1h" })).toEqual([]);
    await pgqueue.resumeQueue(database.db, mail);
    const other = createShopWorker().register(daily, () => {});
    expect(await drain(other)).toHaveLength(1);
    expect(await drain(worker)).toHaveLength(1);
  });

  test("gives its moment to ctx.extendLease and ctx.finalize", async () => {
    const { db } = database;
    const start = new Date("2033-01-01T00:00:00.000Z");
    const { id } = await at(start, () => enqueue(db, mail, { to: "ada@example.com" }));
    const worker = createShopWorker().register(mail, async (job, ctx) => {
      await ctx.extendLease("2h");
      const [row] = await db.select({ lease: tasks.leaseUntil }).from(tasks).where(eq(tasks.id, job.id));
      await db.transaction(async (tx) => {
        await tx.insert(orders).values({ email: row!.lease!.toISOString() });
        await ctx.finalize(tx, done());
      });
    });
    expect(await drain(worker, { until: start })).toMatchObject([{ at: start, result: "done" }]);
    expect(await db.select({ email: orders.email }).from(orders)).toEqual([{ email: "2033-01-01T02:00:00.000Z" }]);
    expect((await pgqueue.getTask(db, id))[0]?.finishedAt).toEqual(start);
  });

  test("works in a transaction that is rolled back", async () => {
    await rollBack(database.db, async (tx) => {
      await enqueue(tx, mail, { to: "x" });
      const worker = createWorker({ db: tx, pgqueue, onEvent: () => {} })
        .register(mail, async (job) => {
          await tx.insert(orders).values({ email: job.payload.to });
          if (job.attempt < 3) throw new Error("again");
        })
        .register(daily, () => {});
      expect(await drain(worker, { until: "2d" })).toHaveLength(3 + 3);
      expect(await enqueued(tx, mail)).toMatchObject([{ status: "completed" }]);
    });
    expect(await enqueued(database.db, mail)).toEqual([]);
    expect(await enqueued(database.db, daily)).toEqual([]);
  });

  test("goes on behind a task that it cannot have", async () => {
    const { db } = database;
    await enqueue(db, mail, { to: "x" });
    await pgqueue.upsertTicker(db, daily);
    const worker = createShopWorker()
      .register(mail, async (job) => {
        if (job.attempt === 1) await pgqueue.pauseQueue(db, mail);
        return retry("once more");
      })
      .register(daily, () => {});
    const runs = await drain(worker, { until: "2d" });
    await pgqueue.resumeQueue(db, mail);
    expect(runs.filter(({ queue }) => queue === "daily")).toHaveLength(3);
    expect(runs.filter(({ queue }) => queue === "mail")).toHaveLength(1);
  });

  test("runs hundreds that are due, without a look at each", { timeout: 60_000 }, async () => {
    const { db } = database;
    await pgqueue.enqueueMany(
      db,
      mail,
      Array.from({ length: 500 }, (_, n) => ({ payload: { to: "x", n } })),
    );
    const worker = createShopWorker().register(mail, () => {});
    expect(await drain(worker)).toHaveLength(500);
  });

  test("ends with the error that ended its transaction", async () => {
    const ended = rollBack(database.db, async (tx) => {
      const worker = createWorker({ db: tx, pgqueue, onEvent: () => {} }).register(mail, async () => {
        await tx.execute(sql`select 1 / 0`);
      });
      await enqueue(tx, mail, { to: "x" });
      await drain(worker);
    });
    await expect(ended).rejects.toMatchObject({ cause: { code: "25P02" } });
  });

  test("is refused while the worker is drained already", async () => {
    await enqueue(database.db, mail, { to: "x" });
    const worker = createShopWorker().register(mail, () => {});
    const [first, second] = await Promise.allSettled([drain(worker), drain(worker)]);
    expect(first).toMatchObject({ status: "fulfilled", value: [{ result: "done" }] });
    expect(second).toMatchObject({ status: "rejected", reason: { name: "ConflictError" } });
  });

  test("leaves what goes on after it in the present", async () => {
    let late = Promise.resolve<unknown>(undefined);
    const worker = createShopWorker().register(daily, () => {
      late = new Promise((resolve) => setTimeout(resolve, 300)).then(() => enqueue(database.db, mail, { to: "late" }));
    });
    await drain(worker, { until: "30d" });
    await late;
    const tasks = await enqueued(database.db, mail);
    expect(tasks.at(-1)!.runAt.getTime()).toBeLessThan(Date.now() + 60_000);
  });

  test("ends when the worker is stopped meanwhile", async () => {
    const worker = createShopWorker().register(mail, async () => {
      await enqueue(database.db, mail, { to: "again" });
    });
    await enqueue(database.db, mail, { to: "x" });
    const drained = drain(worker, { until: "1h" });
    setTimeout(() => void worker.stop({ timeout: 0 }), 100);
    expect((await drained).length).toBeGreaterThan(0);
  });

  test.each<[string, () => Promise<unknown>, typeof OptionsError | typeof ConflictError, RegExp]>([
    ["what is no worker", () => drain({} as never), OptionsError, /drain\.worker/],
    ["a worker without handlers", () => drain(createShopWorker()), OptionsError, /registered handler/],
    ["a moment that is none", () => drain(readyWorker(), { until: "1 day" as never }), OptionsError, /drain\.until/],
    ["an unknown option", () => drain(readyWorker(), { till: 1 } as never), OptionsError, /drain\.till/],
    [
      "a stopped worker",
      async () => {
        const worker = readyWorker();
        await worker.stop();
        return drain(worker);
      },
      ConflictError,
      /stopped/,
    ],
  ])("refuses %s", async (_, call, kind, message) => {
    await expect(call()).rejects.toThrow(kind);
    await expect(call()).rejects.toThrow(message);
  });
});

describe("at", () => {
  const moment = new Date("2035-05-06T07:08:09.012Z");

  test("is the time of day of the statements in it, and of no others", async () => {
    const { id } = await at(moment, () => enqueue(database.db, mail, { to: "x" }, { delay: "1h" }));
    const other = await enqueue(database.db, mail, { to: "y" });
    const [task] = await pgqueue.getTask(database.db, id);
    expect(task).toMatchObject({ createdAt: moment, runAt: new Date(moment.getTime() + 3_600_000) });
    const [now] = await pgqueue.getTask(database.db, other.id);
    expect(Math.abs(now!.createdAt.getTime() - Date.now())).toBeLessThan(60_000);
  });

  test("reaches every statement that knows a time", async () => {
    const { db } = database;
    const later = new Date(moment.getTime() + 60_000);
    await at(moment, () => pgqueue.enqueueMany(db, mail, [{ payload: { to: "a" } }, { payload: { to: "b" } }]));
    expect(await pgqueue.claim(db, mail, { limit: 9 })).toEqual([]);
    const [first, second] = await at(moment, () => pgqueue.claim(db, mail, { limit: 9 }));
    const row = async (id: number) => (await pgqueue.getTask(db, id))[0]!;
    expect(await row(first!.id)).toMatchObject({ claimedAt: moment, leaseUntil: new Date(moment.getTime() + 300_000) });
    await at(later, () => pgqueue.extendLease(db, mail, first!, "1h"));
    expect((await row(first!.id)).leaseUntil).toEqual(new Date(later.getTime() + 3_600_000));
    await at(later, () => pgqueue.finalize(db, mail, { task: first!, result: fail("no") }));
    expect(await row(first!.id)).toMatchObject({ finishedAt: later, errors: [{ at: later.toISOString() }] });
    expect(await at(later, () => pgqueue.reap(db, mail))).toEqual([]);
    const expired = new Date(moment.getTime() + 300_001);
    expect(await at(expired, () => pgqueue.reap(db, mail))).toHaveLength(1);
    expect(await row(second!.id)).toMatchObject({ runAt: new Date(expired.getTime() + 60_000) });
    await at(later, () => pgqueue.enable(db, first!.id));
    expect((await row(first!.id)).runAt).toEqual(later);
    const [paused] = await at(later, () => pgqueue.pauseQueue(db, mail));
    expect(paused?.pausedAt).toEqual(later);
    await pgqueue.resumeQueue(db, mail);
    const [counts] = await at(moment, () => pgqueue.stats(db));
    expect(counts).toMatchObject({ pending: 2, due: 0 });
    await at(later, () => pgqueue.upsertTicker(db, daily));
    expect((await enqueued(db, daily))[0]).toMatchObject({ runAt: later, createdAt: later });
    const select = db.select({ payload: { to: sql<string>`'c'` } }).from(sql`(select 1) as one`);
    const [made] = await at(later, () => pgqueue.enqueueFrom(db, mail, select));
    expect(await row(made!.id)).toMatchObject({ runAt: later, createdAt: later });
    expect(await at(later, () => pgqueue.purge(db, { queue: mail, status: "failed", olderThan: 0, limit: 9 }))).toEqual(
      [],
    );
  });

  test("passes on what the function returns or throws, and refuses what is no moment", async () => {
    expect(await at(moment, () => 7)).toBe(7);
    await expect(at(moment, () => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    await expect(at(new Date("x"), () => 1)).rejects.toThrow(/at\.now/);
  });
});
