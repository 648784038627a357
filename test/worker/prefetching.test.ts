import { drizzle } from "drizzle-orm/postgres-js";
import { afterAll, expect, test } from "vitest";
import { createDatabase } from "../postgres/database.ts";
import { job, pgqueue, rowOf } from "../queries/jobs.ts";
import { observe, until } from "./observed.ts";

const database = await createDatabase({ migrated: true });
const { db, client } = database;
afterAll(database.end);

const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

/** How many tasks of a queue are in each status, and the sum of their attempts. */
async function states(queue: string) {
  const rows = await client<{ status: string; count: number; attempts: number }[]>`
    select status, count(*)::int, sum(attempt)::int as attempts from pgqueue_tasks where queue = ${queue} group by 1`;
  return Object.fromEntries(rows.map(({ status, count, attempts }) => [status, { count, attempts }]));
}

test("handlers that take no time are fed ahead: far fewer claims than runs, and each task runs once", async () => {
  const spec = job();
  await pgqueue.enqueueMany(db, spec, items(3_000));
  let claims = 0;
  const counted = drizzle(client, { logger: { logQuery: (query) => void (/"picked"/.test(query) && claims++) } });
  const seen = new Set<number>();
  const worker = observe(counted, { concurrency: 1 }).on(spec, ({ id }) => void seen.add(id));
  await worker.start();
  await worker.seen("settled", 3_000, 30_000);
  expect(seen.size).toBe(3_000);
  expect(await states(spec.queue)).toEqual({ completed: { count: 3_000, attempts: 3_000 } });
  expect(claims).toBeLessThan(300);
});

test("nothing is claimed ahead of slow handlers", async () => {
  const spec = job();
  await pgqueue.enqueueMany(db, spec, items(60));
  const most: number[] = [];
  const worker = observe(db, { concurrency: 3 }).on(spec, async () => {
    const [row] =
      await client`select count(*)::int as n from pgqueue_tasks where queue = ${spec.queue} and status = 'running'`;
    // What has run, and is being settled, is still claimed.
    most.push(row!.n - 3);
    await new Promise((resolve) => setTimeout(resolve, 200));
  });
  await worker.start();
  await worker.seen("settled", 15);
  expect(Math.max(...most)).toBeLessThanOrEqual(3);
});

test("stop gives back what was claimed ahead, uncharged, and waits for no more than the handlers at work", async () => {
  const spec = job();
  await pgqueue.enqueueMany(db, spec, items(1_000));
  let ran = 0;
  let release = () => {};
  const open = new Promise<void>((resolve) => (release = resolve));
  const worker = observe(db, { concurrency: 2 }).on(spec, async () => {
    if (++ran > 100) await open;
  });
  await worker.start();
  await until(() => ran === 102);
  const stopped = worker.worker.stop();
  await until(async () => (await states(spec.queue)).running?.count === 2);
  release();
  await stopped;
  expect(await states(spec.queue)).toEqual({
    completed: { count: 102, attempts: 102 },
    pending: { count: 898, attempts: 0 },
  });
});

test("when handlers turn out slow, what was claimed ahead is given back for others to run", async () => {
  const spec = job({ pollInterval: "200ms" });
  await pgqueue.enqueueMany(db, spec, items(500));
  let ran = 0;
  let release = () => {};
  const open = new Promise<void>((resolve) => (release = resolve));
  const stuck = observe(db, { concurrency: 2 }).on(spec, async () => {
    if (++ran > 50) await open;
  });
  await stuck.start();
  await until(() => ran === 52);
  const other = observe(db, { concurrency: 2 }).on(spec, () => {});
  await other.start();
  await until(async () => (await states(spec.queue)).completed?.count === 498);
  release();
  await until(async () => (await states(spec.queue)).completed?.count === 500);
  expect(await states(spec.queue)).toEqual({ completed: { count: 500, attempts: 500 } });
});

test("a queue with many fast tasks leaves slots to the others", async () => {
  const fast = job();
  const slow = job();
  await pgqueue.enqueueMany(db, fast, items(4_000));
  await pgqueue.enqueueMany(db, slow, items(20));
  const order: string[] = [];
  const worker = observe(db, { concurrency: 4 })
    .on(fast, () => void order.push("fast"))
    .on(slow, async () => {
      order.push("slow");
      await new Promise((resolve) => setTimeout(resolve, 5));
    });
  await worker.start();
  await worker.seen("settled", 4_020, 30_000);
  expect(order.filter((name) => name === "slow")).toHaveLength(20);
  expect(order.lastIndexOf("slow")).toBeLessThan(order.lastIndexOf("fast"));
});

test("a last try is written down before its handler begins, so that a crash does not cost those that never began", async () => {
  const spec = job({ maxRetries: 0 });
  const { id } = await pgqueue.enqueue(db, spec, 1);
  const worker = observe(db).on(spec, async () => {
    expect(await rowOf(db, id)).toMatchObject({ attempt: 1, startedAt: expect.any(Date) });
  });
  await worker.start();
  const [settled] = await worker.seen("settled");
  expect(settled).toMatchObject({ status: "completed" });
});

test("the next claim is sent before the handlers of a large batch begin", async () => {
  const spec = job();
  await pgqueue.enqueueMany(database.db, spec, Array(2_000).fill({ payload: 1 }));
  const happened: string[] = [];
  const claim = async (...args: Parameters<typeof pgqueue.claim>) => {
    happened.push("claim");
    const tasks = await pgqueue.claim(...args);
    happened.push(`answer of ${tasks.length}`);
    return tasks;
  };
  const observed = observe(database.db, { concurrency: 1_000, pgqueue: { ...pgqueue, claim: claim as never } });
  observed.on(spec, () => {
    if (happened.at(-1) !== "begin") happened.push("begin");
  });
  await observed.start();
  await observed.seen("settled", 2_000);
  // The first claim is of unknown handlers, and nothing is claimed ahead of them.
  const large = happened.flatMap((what, i) => (/^answer of \d{3,}/.test(what) ? [happened[i + 1]] : [])).slice(1);
  expect(large.length).toBeGreaterThan(1);
  expect(new Set(large)).toEqual(new Set(["claim"]));
});
