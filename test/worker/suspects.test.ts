import { afterAll, beforeAll, expect, test } from "vitest";
import { createPgqueue } from "../../src/index.ts";
import type { JobSpec } from "../../src/tasks/spec.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { expire, job, makeDue, pgqueue, queues, rowOf, tasks } from "../queries/jobs.ts";
import { door } from "./door.ts";
import { observe, until } from "./observed.ts";

// Tasks whose last run ended with its process: any of them may be the one that killed it.

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const rest = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** So many tasks whose process died of one of them. */
async function suspects(spec: JobSpec, count: number): Promise<number[]> {
  const enqueued = await pgqueue.enqueueMany(
    database.db,
    spec,
    Array.from({ length: count }, (_, payload) => ({ payload })),
  );
  const ids = enqueued.map(({ id }) => id);
  await pgqueue.claim(database.db, spec, { limit: count, workerId: "the dead one" });
  await expire(database.db, ...ids);
  await pgqueue.reap(database.db, spec);
  await makeDue(database.db, spec);
  return ids;
}

test("run one at a time, each written down as begun, beside those that are none", async () => {
  const spec = job();
  const ids = await suspects(spec, 5);
  const innocent = await pgqueue.enqueueMany(database.db, spec, [{ payload: 5 }, { payload: 6 }]);
  let working = 0;
  let most = 0;
  let isBeside = false;
  const observed = observe(database.db).on(spec, async ({ id, payload }) => {
    if (payload > 4) {
      await until(() => working > 0);
      isBeside = true;
      return;
    }
    most = Math.max(most, ++working);
    const rows = await Promise.all(ids.map((id) => rowOf(database.db, id)));
    expect(rows.filter(({ startedAt }) => startedAt).map((row) => row.id)).toContain(id);
    await rest(20);
    working--;
  });
  expect(await observed.worker.drain()).toBe(7);
  expect(most).toBe(1);
  expect(isBeside).toBe(true);
  for (const id of [...ids, ...innocent.map(({ id }) => id)]) {
    expect((await rowOf(database.db, id)).status).toBe("completed");
  }
});

test("have their whole lease for the work, however long they waited for their turn", async () => {
  const spec = job({ leaseDuration: 2_400, finalizeBuffer: 600, maxRetries: 1, pollInterval: 50 });
  const ids = await suspects(spec, 4);
  let fired = 0;
  const observed = await observe(database.db)
    .on(spec, async (_, { signal }) => {
      await rest(700);
      if (signal.aborted) fired++;
    })
    .start();
  await observed.seen("settled", 4);
  expect(fired).toBe(0);
  for (const id of ids) expect(await rowOf(database.db, id)).toMatchObject({ status: "completed", attempt: 2 });
});

test("are none any more once they failed in the ordinary way", async () => {
  const spec = job({ retryDelay: 0, pollInterval: 20 });
  await suspects(spec, 3);
  let working = 0;
  let most = 0;
  const observed = await observe(database.db)
    .on(spec, async ({ attempt }) => {
      if (attempt === 2) throw new Error("the ordinary way");
      most = Math.max(most, ++working);
      await until(() => most === 3, 3_000);
      working--;
    })
    .start();
  await observed.seen("settled", 6);
  expect(most).toBe(3);
});

test("take no place from others while one of them runs", async () => {
  const slow = job({ pollInterval: 20 });
  const healthy = job({ pollInterval: 20 });
  const ids = await suspects(slow, 5);
  const first = door();
  const observed = await observe(database.db, { concurrency: 2 })
    .on(slow, () => first.opened)
    .on(healthy, () => {})
    .start();
  await until(async () => (await Promise.all(ids.map((id) => rowOf(database.db, id)))).some((row) => row.startedAt));
  await pgqueue.enqueueMany(database.db, healthy, Array(20).fill({ payload: 1 }));
  const settled = () =>
    observed.of("settled").filter((event) => event.type === "settled" && event.queue === healthy.queue);
  await until(() => settled().length === 20);
  first.open();
  await observed.seen("settled", 25);
});

test("follow each other at once, though nothing tells that they may", async () => {
  const silent = createPgqueue({ tasks, queues, notify: false });
  const spec = job({ pollInterval: "1h" });
  const ids = await suspects(spec, 100);
  const observed = await observe(database.db, { pgqueue: silent, listen: false })
    .on(spec, () => {})
    .start();
  await observed.seen("settled", ids.length, 15_000);
  const rows = await Promise.all(ids.map((id) => rowOf(database.db, id)));
  expect(rows.every(({ status, attempt }) => status === "completed" && attempt === 2)).toBe(true);
  // Claimed together, not each time all that are left.
  expect(rows.reduce((sum, { claims }) => sum + claims, 0)).toBeLessThan(10 * ids.length);
});

test("follow though the one before ended while the claim that left them out was under way", async () => {
  const spec = job({ pollInterval: "1h" });
  const ids = await suspects(spec, 2);
  const first = door();
  const held = door();
  const isHeld = door();
  const claim: typeof pgqueue.claim = (db, spec, options) => {
    if (options.crashed) return pgqueue.claim(db, spec, { ...options, limit: 1 });
    isHeld.open();
    return held.opened.then(() => pgqueue.claim(db, spec, options)) as never;
  };
  const observed = await observe(database.db, { pgqueue: { ...pgqueue, claim }, listen: false, concurrency: 2 })
    .on(spec, () => first.opened)
    .start();
  await isHeld.opened;
  first.open();
  await observed.seen("settled", 1);
  held.open();
  await observed.seen("settled", ids.length);
});
