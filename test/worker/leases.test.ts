import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConflictError, LeaseExpiredError, StaleClaimError } from "../../src/errors.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { claimNew, expire, job, pgqueue, rowOf } from "../queries/jobs.ts";
import { begin } from "../queries/transactions.ts";
import { door } from "./door.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const rest = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener("abort", () => resolve(signal.reason), { once: true }));

describe("the signal", () => {
  test("fires finalizeBuffer before the lease ends, and there is time to settle", async () => {
    const spec = job({ leaseDuration: 5_000, finalizeBuffer: 4_000 });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    let reason: unknown;
    let left = 0;
    const observed = await observe(database.db)
      .on(spec, async (_, { signal }) => {
        reason = await aborted(signal);
        left = (await rowOf(database.db, id)).leaseUntil!.getTime() - Date.now();
      })
      .start();
    await observed.seen("settled");
    expect(reason).toBeInstanceOf(LeaseExpiredError);
    expect(left).toBeGreaterThan(2_000);
    // The lease of the database began a little later, when the claim had got there.
    expect(left).toBeLessThan(4_900);
    expect((await rowOf(database.db, id)).status).toBe("completed");
  });

  test("goes along with a copy of the context, as all that it has", async () => {
    const spec = job();
    await pgqueue.enqueue(database.db, spec, 1);
    let copy: object = {};
    await observe(database.db)
      .on(spec, (_, context) => {
        copy = { ...context, logger: console };
      })
      .worker.drain();
    expect(copy).toMatchObject({
      signal: expect.any(AbortSignal),
      workerId: expect.any(String),
      extendLease: expect.any(Function),
      finalize: expect.any(Function),
    });
  });

  test("does not fire when the handler ends in time", async () => {
    const spec = job({ leaseDuration: 300, finalizeBuffer: 100 });
    await pgqueue.enqueue(database.db, spec, 1);
    let kept: AbortSignal | undefined;
    const observed = observe(database.db).on(spec, (_, { signal }) => {
      kept = signal;
    });
    await observed.worker.drain();
    await rest(300);
    expect(kept!.aborted).toBe(false);
  });

  test("fires soon after the task was disabled, whose outcome then changes nothing", async () => {
    const spec = job({ pollInterval: 100 });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    let reason: unknown;
    const observed = await observe(database.db, { tolerate: ["lost"] })
      .on(spec, async (_, { signal }) => {
        reason = await aborted(signal);
      })
      .start();
    await until(async () => (await rowOf(database.db, id)).status === "running");
    await rest(60);
    const began = performance.now();
    await pgqueue.disable(database.db, id);
    await observed.seen("lost", 1, 3_000);
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(reason).toBeInstanceOf(StaleClaimError);
    expect(reason).toMatchObject({ taskId: id, queue: spec.queue });
    expect(await rowOf(database.db, id)).toMatchObject({ status: "disabled", output: null, errors: null });
  });

  test("fires when the row was deleted", async () => {
    const spec = job({ pollInterval: 60 });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const observed = await observe(database.db, { tolerate: ["lost"] })
      .on(spec, async (_, { signal }) => {
        await database.client`delete from pgqueue_tasks where id = ${id}`;
        expect(await aborted(signal)).toBeInstanceOf(StaleClaimError);
      })
      .start();
    await observed.seen("lost", 1, 3_000);
  });

  test("leaves the others alone, even one whose row is locked by a transaction", async () => {
    const spec = job({ pollInterval: 50 });
    const [first, second] = await pgqueue.enqueueMany(database.db, spec, [{ payload: 1 }, { payload: 2 }]);
    const { opened, open } = door();
    const signals = new Map<number, AbortSignal>();
    const observed = await observe(database.db, { tolerate: ["lost"] })
      .on(spec, async ({ id }, { signal }) => {
        signals.set(id, signal);
        await opened;
      })
      .start();
    await until(() => signals.size === 2);
    const transaction = await begin(database.db);
    await transaction.tx.execute(`select 1 from pgqueue_tasks where id = ${second!.id} for update`);
    await pgqueue.disable(database.db, first!.id);
    await until(() => signals.get(first!.id)!.aborted);
    await rest(150);
    expect(signals.get(second!.id)!.aborted).toBe(false);
    await transaction.rollback();
    open();
    await observed.seen("settled");
  });
});

describe("extendLease", () => {
  test("moves the signal and the lease", async () => {
    const spec = job({ leaseDuration: 1_600, finalizeBuffer: 800, pollInterval: "1h" });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const observed = await observe(database.db)
      .on(spec, async (_, { signal, extendLease }) => {
        for (let i = 0; i < 8; i++) {
          await extendLease();
          await rest(200);
          expect(signal.aborted).toBe(false);
        }
        await extendLease("1h");
        expect((await rowOf(database.db, id)).leaseUntil!.getTime() - Date.now()).toBeGreaterThan(3_500_000);
        // Never to an earlier moment.
        await extendLease(900);
        await rest(250);
        expect(signal.aborted).toBe(false);
      })
      .start();
    await observed.seen("settled");
    expect(observed.events).toMatchObject([{ result: "done" }]);
    expect(await rowOf(database.db, id)).toMatchObject({ status: "completed", claims: 1 });
  });

  test("says when the claim is over, and fires the signal", async () => {
    const spec = job({ pollInterval: "1h" });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const seen: unknown[] = [];
    const observed = await observe(database.db, { tolerate: ["lost"], listen: false })
      .on(spec, async (_, { signal, extendLease }) => {
        await pgqueue.disable(database.db, id);
        await extendLease().catch((error) => seen.push(error));
        seen.push(signal.reason);
      })
      .start();
    await observed.seen("lost");
    expect(seen).toEqual([expect.any(StaleClaimError), seen[0]]);
  });

  test("says when a transaction of someone else holds the row, and the claim goes on", async () => {
    const spec = job({ pollInterval: "1h" });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    let refusal: unknown;
    const observed = await observe(database.db)
      .on(spec, async (_, { signal, extendLease }) => {
        const transaction = await begin(database.db);
        await transaction.tx.execute(`select 1 from pgqueue_tasks where id = ${id} for update`);
        refusal = await extendLease().catch((error) => error);
        expect(signal.aborted).toBe(false);
        await transaction.rollback();
        await extendLease();
      })
      .start();
    await observed.seen("settled");
    expect(observed.events).toMatchObject([{ result: "done" }]);
    expect(refusal).toBeInstanceOf(ConflictError);
  });

  test.each([0, -1, "5", Number.NaN, "soon"])("refuses %s", async (duration) => {
    const spec = job();
    await pgqueue.enqueue(database.db, spec, 1);
    let refusal: unknown;
    await observe(database.db)
      .on(spec, async (_, { extendLease }) => {
        refusal = await extendLease(duration as never).catch((error) => error);
      })
      .worker.drain();
    expect(refusal).toMatchObject({ name: "OptionsError", field: "extendLease.duration" });
  });
});

describe("a lease that ran out", () => {
  test("is reaped, the attempt charged, and another worker has the task; the first changes nothing and is told", async () => {
    const spec = job({ leaseDuration: 1_500, finalizeBuffer: 300, retryDelay: 0, pollInterval: 50 });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const { opened, open } = door();
    const begun = door();
    const slow = await observe(database.db, { tolerate: ["lost"], workerId: "slow", concurrency: 1 })
      .on(spec, async ({ attempt }) => {
        begun.open();
        if (attempt === 1) await opened;
        return { type: "done", output: `slow ${attempt}` };
      })
      .start();
    await begun.opened;
    const quick = await observe(database.db, { workerId: "quick" })
      .on(spec, ({ attempt }) => ({ type: "done", output: `quick ${attempt}` }))
      .start();
    await quick.seen("settled");
    open();
    await slow.seen("lost");
    expect(slow.of("settled")).toEqual([]);
    const row = await rowOf(database.db, id);
    expect(row).toMatchObject({ status: "completed", output: "quick 2", claims: 2, attempt: 2 });
    expect(row.errors).toEqual([
      expect.objectContaining({
        attempt: 1,
        name: "LeaseExpiredError",
        message: expect.stringContaining("while slow held it"),
      }),
    ]);
  });

  test("is looked for every half lease, however long the reap interval", async () => {
    const spec = job({ leaseDuration: 500, retryDelay: "1h" });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    await pgqueue.claim(database.db, spec, { limit: 1 });
    await observe(database.db, { reapInterval: "1h", listen: false })
      .on(job({ queue: spec.queue, leaseDuration: 500, pollInterval: "1h", retryDelay: "1h" }), () => {})
      .start();
    await until(async () => (await rowOf(database.db, id)).errors, 3_000);
    expect(await rowOf(database.db, id)).toMatchObject({ status: "pending", attempt: 1 });
  });
});

describe("a task that waited too long", () => {
  const slowly = (delay: number) => {
    const client = postgres(database.url, { max: 3, onnotice: () => {} });
    const db = drizzle(client);
    const held = {
      ...pgqueue,
      claim: ((...args: Parameters<typeof pgqueue.claim>) =>
        Promise.resolve(pgqueue.claim(...args)).then(async (tasks) => {
          if (tasks.length > 0) await rest(delay);
          return tasks;
        })) as never,
    };
    return { db, held, end: () => client.end({ timeout: 0 }) };
  };

  test("for its answer is released, not started, and not charged", async () => {
    const spec = job({ leaseDuration: 300, finalizeBuffer: 200, pollInterval: "1h" });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const { db, held, end } = slowly(150);
    let runs = 0;
    const observed = await observe(db, { tolerate: ["warning"], listen: false, pgqueue: held, reapInterval: "1h" })
      .on(spec, () => {
        runs++;
      })
      .start();
    await until(async () => {
      const { status, claims } = await rowOf(database.db, id);
      return status === "pending" && claims >= 1;
    });
    await observed.worker.stop();
    expect(runs).toBe(0);
    const row = await rowOf(database.db, id);
    expect(row).toMatchObject({ status: "pending", attempt: 0, errors: null });
    await end();
  });
});

test("a lost claim is reported once, for whatever result", async () => {
  const spec = job({ pollInterval: "1h" });
  const enqueued = await pgqueue.enqueueMany(
    database.db,
    spec,
    ["done", "retry", "fail", "skip", "throw"].map((payload) => ({ payload })),
  );
  const observed = await observe(database.db, { tolerate: ["lost"] })
    .on(spec, async ({ id, payload }) => {
      await expire(database.db, id);
      await pgqueue.reap(database.db, spec);
      if (payload === "throw") throw new Error("x");
      return { type: payload, error: "x" } as never;
    })
    .start();
  await observed.seen("lost", 5);
  await rest(50);
  expect(observed.events).toHaveLength(5);
  expect(
    observed
      .of("lost")
      .map(({ taskId }) => taskId)
      .sort(),
  ).toEqual(enqueued.map(({ id }) => id).sort());
  for (const { id } of enqueued) {
    const { errors, status } = await rowOf(database.db, id);
    expect(status).toBe("pending");
    expect(errors).toMatchObject([{ name: "LeaseExpiredError" }]);
  }
});

test("leases that take too long to end together are ended in smaller batches, and keep no worker from its start", async () => {
  const own = await createDatabase({ migrated: true });
  const spec = job({ leaseDuration: 500 });
  const expired = await claimNew(own.db, spec, 80);
  await expire(own.db, ...expired.map(({ id }) => id));
  await own.client.unsafe(`
    create function be_slow() returns trigger language plpgsql as $$ begin
      if old.status = 'running' and new.status = 'pending' then perform pg_sleep(0.02); end if;
      return new;
    end $$;
    create trigger be_slow before update on pgqueue_tasks for each row execute function be_slow()`);
  const client = postgres(own.url, { max: 4, connection: { statement_timeout: 400 } });
  const observed = observe(drizzle(client), { tolerate: ["error"] }).on(spec, () => {});
  await observed.start();
  await until(async () => {
    const [row] = await own.client`select count(*)::int from pgqueue_tasks where errors is not null`;
    return row!.count === 80;
  }, 15_000);
  await observed.worker.stop();
  expect(observed.of("error").map(({ during }) => during)).toContain("reap");
  await client.end();
  await own.end();
});
