import { sql } from "drizzle-orm";
import { expect } from "vitest";
import { type createPgqueue, done, fail, retry } from "../../src/index.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { job, ticker } from "./jobs.ts";

/** A life of tasks that takes every statement. */
export async function liveThrough(pgqueue: ReturnType<typeof createPgqueue>, db: TestDatabase["db"]) {
  const spec = job({ dedup: "active", hash: (p) => p.hash, retryDelay: 0 });
  const clock = ticker();
  const { id } = await pgqueue.enqueue(db, spec, { hash: "a" });
  await pgqueue.enqueueMany(db, spec, [{ payload: { hash: "b" } }, { payload: { hash: null } }]);
  const none = job({ queue: spec.queue });
  const select = db
    .select({
      payload: sql<{ hash: string }>`'{"hash":"d"}'::jsonb`,
      hash: sql<string>`'d'`,
      delay: sql<number>`60000`,
    })
    .from(sql`(select 1) as one`);
  const [later] = await pgqueue.enqueueFrom(db, none, select);
  await pgqueue.disable(db, later!.id);
  await pgqueue.upsertTicker(db, clock);
  expect(await pgqueue.enqueue(db, spec, { hash: "b" })).toMatchObject({ deduplicated: true });

  const claimed = (await pgqueue.claim(db, spec, { limit: 10 })).sort((a, b) => a.id - b.id);
  const [a, b, c] = claimed;
  expect(claimed).toHaveLength(3);
  expect(await pgqueue.extendLease(db, spec, claimed, "10m")).toHaveLength(3);
  expect(await pgqueue.markStarted(db, spec, a!)).toHaveLength(1);
  expect(await pgqueue.release(db, spec, c!)).toHaveLength(1);
  await pgqueue.finalizeOrThrow(db, spec, { task: a!, result: fail("x"), payload: { hash: "a" } });
  expect(await pgqueue.finalize(db, spec, { task: b!, result: done({ ok: true }), payload: "new" })).toHaveLength(1);
  expect(await pgqueue.heldBy(db, spec, [a!])).toMatchObject([{ id, holding: "lost" }]);
  expect(await pgqueue.replacePayload(db, spec, id, { hash: "a", n: 2 })).toMatchObject({ status: "failed" });
  expect(await pgqueue.enable(db, id)).toMatchObject([{ status: "pending" }]);
  expect(await pgqueue.disable(db, id)).toMatchObject([{ status: "disabled" }]);
  expect(await pgqueue.requeue(db, id)).toMatchObject([{ status: "pending" }]);
  expect(await pgqueue.pauseQueue(db, spec)).toHaveLength(1);
  expect(await pgqueue.claim(db, spec, { limit: 10 })).toEqual([]);
  expect(await pgqueue.resumeQueue(db, spec)).toHaveLength(1);

  const [tick] = await pgqueue.claim(db, clock, { limit: 1 });
  await pgqueue.finalize(db, clock, { task: tick!, result: retry("later") });
  const again = await pgqueue.claim(db, spec, { limit: 10 });
  expect(again).toHaveLength(2);
  expect(await pgqueue.releaseClaim(db, spec, again[0]!.token)).toHaveLength(2);
  expect(await pgqueue.claim(db, job({ queue: spec.queue, leaseDuration: 1 }), { limit: 10 })).toHaveLength(2);
  await db.execute(sql`select pg_sleep(0.01)`);
  expect(await pgqueue.reap(db, spec)).toHaveLength(2);
  const old = { queue: spec, status: "completed", olderThan: 0, limit: 10 } as const;
  expect(await pgqueue.purge(db, old)).toEqual([{ id: b!.id }]);

  const brief = job({ retain: { completed: 0, failed: 0 }, retryDelay: 0 });
  await pgqueue.enqueueMany(
    db,
    brief,
    [1, 2, 3].map((payload) => ({ payload })),
  );
  const [first] = await pgqueue.claim(db, brief, { limit: 1 });
  const others = await pgqueue.claim(db, brief, { limit: 2, after: [first!] });
  expect(others).toHaveLength(2);
  const results = [done(), retry("x")];
  const mixed = others.map((task, i) => ({ task, result: results[i]! }));
  expect(await pgqueue.finalize(db, brief, mixed)).toHaveLength(2);
  expect(await pgqueue.finalize(db, brief, { task: first!, result: done() })).toHaveLength(1);
  const [retried] = await pgqueue.claim(db, brief, { limit: 10 });
  expect(await pgqueue.finalize(db, brief, { task: retried!, result: fail("x") })).toHaveLength(1);

  expect(await pgqueue.getTask(db, id)).toMatchObject([{ payload: { hash: "a", n: 2 }, attempt: 1 }]);
  expect(await pgqueue.listTasks(db, { queue: spec })).toHaveLength(3);
  expect(await pgqueue.stats(db)).toHaveLength(2);
}
