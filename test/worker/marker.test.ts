import { drizzle } from "drizzle-orm/postgres-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Claimed } from "../../src/index.ts";
import { Lease } from "../../src/worker/lease.ts";
import { Marker } from "../../src/worker/marker.ts";
import { afterClosings } from "../../src/worker/turn.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { claimNew, expire, job, pgqueue, rowOf } from "../queries/jobs.ts";
import { begin } from "../queries/transactions.ts";
import { observe } from "./observed.ts";

let database: TestDatabase;
let db: TestDatabase["db"];
const sent: string[] = [];
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
  db = drizzle(database.client, { logger: { logQuery: (query) => sent.push(query) } });
});
afterAll(() => database.end());

const marks = () => sent.filter((query) => query.includes('set "started_at" = statement_timestamp()'));
const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

test("handlers that begin together are written down together", async () => {
  const spec = job({ maxRetries: 0 });
  await pgqueue.enqueueMany(db, spec, items(50));
  sent.length = 0;
  let begun = 0;
  await observe(db, { concurrency: 50 })
    .on(spec, () => {
      begun++;
    })
    .worker.drain();
  expect(begun).toBe(50);
  expect(marks()).toHaveLength(1);
});

test("what is wanted no more is not written down, beside others that are", async () => {
  const spec = job({ maxRetries: 0 });
  await pgqueue.enqueueMany(db, spec, items(3));
  const tasks = await pgqueue.claim(db, spec, { limit: 3, started: false });
  const { signal } = new AbortController();
  const host = { db, pgqueue, workerId: "w", closing: signal, closed: signal, nextTurn: afterClosings, report() {} };
  const marker = new Marker(host, { spec, handler: () => {} });
  const answers = tasks.map((task, i) =>
    marker.mark({ task, lease: new Lease(spec, task, performance.now()) }, () => i !== 1),
  );
  expect(await Promise.all(answers)).toEqual([true, false, true]);
  const rows = await Promise.all(tasks.map(({ id }) => rowOf(db, id)));
  expect(rows.map(({ startedAt }) => startedAt !== null)).toEqual([true, false, true]);
});

test("one whose claim is over is not begun, one whose row is locked is when it is free; the others do not wait", async () => {
  const spec = job({ maxRetries: 0, leaseDuration: 60_000 });
  const tasks = await claimNew(db, spec, 4);
  const [free, over, locked, other] = tasks as [Claimed, Claimed, Claimed, Claimed];
  await expire(db, over.id);
  await pgqueue.reap(db, spec);
  const { tx, rollback } = await begin(db);
  await pgqueue.disable(tx, locked.id);

  const { signal } = new AbortController();
  const host = { db, pgqueue, workerId: "w", closing: signal, closed: signal, nextTurn: afterClosings, report() {} };
  const marker = new Marker(host, { spec, handler: () => {} });
  const answers = new Map<number, Promise<boolean>>();
  for (const task of tasks) {
    answers.set(
      task.id,
      marker.mark({ task, lease: new Lease(spec, task, performance.now()) }, () => true),
    );
  }
  expect(await Promise.all([free, over, other].map(({ id }) => answers.get(id)))).toEqual([true, false, true]);
  expect((await rowOf(db, free.id)).startedAt).not.toBeNull();
  await rollback();
  expect(await answers.get(locked.id)).toBe(true);
});
