import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { done, fail, retry, skip } from "../../src/tasks/result.ts";
import type { Spec } from "../../src/tasks/spec.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { job, makeDue, pgqueue, rowOf, ticker } from "../queries/jobs.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const rest = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const ids = async ({ queue }: Spec) =>
  (await database.client`select id from pgqueue_tasks where queue = ${queue}`).map(({ id }) => Number(id));
const theRow = async (spec: Spec) => {
  const [id, ...more] = await ids(spec);
  expect(more).toEqual([]);
  return rowOf(database.db, id!);
};
const waitOf = (row: { runAt: Date }, from: number) => row.runAt.getTime() - from;

describe("a ticker", () => {
  test("is created when its worker starts, and runs at once", async () => {
    const spec = ticker({ initialPayload: { cursor: 41 }, pollInterval: "1h" });
    const seen: unknown[] = [];
    const observed = observe(database.db).on(spec, ({ payload, attempt }) => void seen.push(payload, attempt));
    expect(await ids(spec)).toEqual([]);
    await observed.start();
    await observed.seen("settled");
    expect(seen).toEqual([{ cursor: 41 }, 1]);
    expect(await theRow(spec)).toMatchObject({ status: "pending", kind: "ticker", key: "main", attempt: 0, claims: 1 });
  });

  test("runs again every so often, counted from the settlement", async () => {
    const spec = ticker({ every: 200, pollInterval: "1h" });
    const times: [began: number, ended: number][] = [];
    const observed = await observe(database.db)
      .on(spec, async () => {
        const began = performance.now();
        await rest(100);
        times.push([began, performance.now()]);
      })
      .start();
    await observed.seen("settled", 3);
    for (const [i, [began]] of times.slice(1).entries()) {
      const pause = began - times[i]![1];
      expect(pause).toBeGreaterThanOrEqual(199);
      expect(pause).toBeLessThan(3_000);
    }
  });

  test("keeps what the handler makes of its payload, and its output", async () => {
    const spec = ticker({ every: 1 });
    const seen: number[] = [];
    const observed = await observe(database.db)
      .on(spec, ({ payload }) => {
        seen.push(payload.cursor++);
        return done({ upTo: payload.cursor });
      })
      .start();
    await observed.seen("settled", 5);
    await observed.worker.stop();
    expect(seen).toEqual(seen.map((_, i) => i));
    expect(await theRow(spec)).toMatchObject({ payload: { cursor: seen.length }, output: { upTo: seen.length } });
  });

  test("skip keeps the payload and the error; fail is for good", async () => {
    const spec = ticker({ every: "1h" });
    const observed = observe(database.db).on(spec, (job) => {
      job.payload.cursor = 5;
      return skip("rebuilding");
    });
    await observed.worker.drain();
    const row = await theRow(spec);
    expect(row).toMatchObject({
      status: "pending",
      attempt: 0,
      payload: { cursor: 5 },
      errors: [{ message: "rebuilding" }],
    });
    expect(waitOf(row, new Date(row.errors![0]!.at).getTime())).toBe(3_600_000);

    await pgqueue.requeue(database.db, row.id);
    const failing = observe(database.db).on(spec, (job) => {
      job.payload.cursor = 6;
      return fail("gone");
    });
    await failing.worker.drain();
    expect(await theRow(spec)).toMatchObject({ status: "failed", payload: { cursor: 5 } });
  });

  test("takes a new `every` from the code, and keeps its payload", async () => {
    const queue = ticker().queue;
    const old = ticker({ queue, every: "1h", initialPayload: { cursor: 3 } });
    const first = observe(database.db).on(old, () => {});
    await first.worker.drain();
    await first.worker.stop();
    await makeDue(database.db, old);

    const changed = ticker({ queue, every: "3h", initialPayload: { cursor: 0 } });
    const seen: unknown[] = [];
    const before = Date.now();
    const second = observe(database.db).on(changed, ({ payload }) => void seen.push(payload));
    expect(await second.worker.drain()).toBe(1);
    expect(seen).toEqual([{ cursor: 3 }]);
    const row = await theRow(changed);
    expect(waitOf(row, before)).toBeGreaterThanOrEqual(3 * 3_600_000 - 50);
    expect(waitOf(row, before)).toBeLessThan(3 * 3_600_000 + 5_000);
    expect(row.payload).toEqual({ cursor: 3 });
  });

  test("that fails all its tries waits for its next tick, payload untouched and errors kept; then it has all its tries again", async () => {
    const spec = ticker({ every: "1h", maxRetries: 2, retryDelay: 1, initialPayload: { cursor: 7 } });
    const attempts: number[] = [];
    const observed = observe(database.db).on(spec, (job) => {
      attempts.push(job.attempt);
      job.payload.cursor = 99;
      return retry(new Error(`run ${attempts.length}`));
    });
    for (const period of [1, 2]) {
      await observed.worker.drain();
      await until(async () => {
        await observed.worker.drain();
        return attempts.length === period * 3;
      });
      const row = await theRow(spec);
      expect(row).toMatchObject({ status: "pending", attempt: 0, payload: { cursor: 7 }, finishedAt: null });
      expect(row.errors!.map(({ attempt }) => attempt)).toEqual(period === 1 ? [3, 2, 1] : [3, 2, 1, 3, 2, 1]);
      expect(waitOf(row, new Date(row.errors![0]!.at).getTime())).toBe(3_600_000);
      await makeDue(database.db, spec);
    }
    expect(attempts).toEqual([1, 2, 3, 1, 2, 3]);
  });

  test("that died in all its tries waits for its next tick just the same", async () => {
    const spec = ticker({ every: "1h", maxRetries: 0 });
    await pgqueue.upsertTicker(database.db, spec);
    await pgqueue.claim(database.db, spec, { limit: 1, workerId: "the dead one" });
    await database.client`update pgqueue_tasks set lease_until = now() - interval '1s' where queue = ${spec.queue}`;
    await observe(database.db)
      .on(spec, () => {})
      .worker.drain();
    const row = await theRow(spec);
    expect(row).toMatchObject({ status: "pending", attempt: 0, errors: [{ name: "LeaseExpiredError" }] });
    expect(row.errors![0]!.message).toContain("the dead one");
    expect(waitOf(row, new Date(row.errors![0]!.at).getTime())).toBe(3_600_000);
  });
});

describe("several workers with one ticker", () => {
  test("make one row", async () => {
    const specs = [ticker(), ticker(), ticker()];
    const all = Array.from({ length: 6 }, () => {
      const observed = observe(database.db);
      for (const spec of specs) observed.on(spec, () => {});
      return observed;
    });
    await Promise.all(all.map((observed) => observed.start()));
    await until(() => all.reduce((sum, { events }) => sum + events.length, 0) === 3);
    for (const spec of specs) expect(await ids(spec)).toHaveLength(1);
  });

  test("never run it twice at once, and count every run", async () => {
    const spec = ticker({ every: 1, pollInterval: 5 });
    let working = 0;
    let most = 0;
    const counts: number[] = [];
    const all = await Promise.all(
      Array.from({ length: 4 }, () =>
        observe(database.db)
          .on(spec, async ({ payload }) => {
            most = Math.max(most, ++working);
            counts.push(payload.cursor++);
            await rest(3);
            working--;
          })
          .start(),
      ),
    );
    await until(() => counts.length > 40);
    await Promise.all(all.map(({ worker }) => worker.stop()));
    expect(most).toBe(1);
    expect(counts).toEqual(counts.map((_, i) => i));
    expect((await theRow(spec)).claims).toBe(counts.length);
  });
});

test("jobs and tickers of one queue keep to their own handlers", async () => {
  const jobs = job();
  const spec = ticker({ queue: jobs.queue, key: "a" });
  const other = ticker({ queue: jobs.queue, key: "b" });
  const seen: string[] = [];
  const observed = observe(database.db)
    .on(jobs, ({ key }) => void seen.push(`job ${key}`))
    .on(spec, ({ key }) => void seen.push(`ticker ${key}`))
    .on(other, ({ key }) => void seen.push(`other ${key}`));
  await pgqueue.enqueueMany(database.db, jobs, [{ payload: 1 }, { payload: 2 }]);
  expect(await observed.worker.drain()).toBe(4);
  expect(seen.sort()).toEqual(["job null", "job null", "other b", "ticker a"]);
});
