import assert from "node:assert/strict";
import { done, newClaimToken } from "pgqueue";
import type { Case } from "../case.ts";
import { claimNew, claimOne, expire, job, pgqueue, rowOf, tick, ticker } from "../shop.ts";

const { claim, enqueue, enqueueMany, extendLease, finalize, finalizeOrThrow, heldBy, markStarted } = pgqueue;
const { reap, release, releaseClaim, upsertTicker } = pgqueue;

export const leaseCases: readonly Case[] = [
  {
    name: "release gives tasks back, uncharged",
    async run({ db }) {
      const spec = job();
      const tasks = await claimNew(db, spec, 3);
      const released = await release(db, spec, tasks.slice(0, 2));
      assert.deepEqual(released.map(({ id }) => id).sort(), [tasks[0]!.id, tasks[1]!.id].sort());
      assert.deepEqual(await release(db, spec, tasks[0]!), []);
      const row = await rowOf(db, tasks[0]!.id);
      assert.deepEqual([row.status, row.attempt, row.claims, row.claimToken], ["pending", 0, 1, null]);
      assert.deepEqual(row.runAt, tasks[0]!.runAt);
    },
  },
  {
    name: "releaseClaim gives back what a token took",
    async run({ db }) {
      const spec = job();
      await enqueueMany(db, spec, [{ payload: 1 }, { payload: 2 }]);
      const token = newClaimToken();
      const claimed = await claim(db, spec, { limit: 2, token });
      const released = await releaseClaim(db, spec, token);
      assert.deepEqual(released.map(({ id }) => id).sort(), claimed.map(({ id }) => id).sort());
      assert.deepEqual(await releaseClaim(db, spec, token), []);
    },
  },
  {
    name: "extendLease moves the end of a lease, never to an earlier moment",
    async run({ db }) {
      const spec = job({ leaseDuration: "1m" });
      const [task] = await claimNew(db, spec, 1);
      const before = (await rowOf(db, task!.id)).leaseUntil!;
      const [extended] = await extendLease(db, spec, task!, "10m");
      assert(extended?.leaseUntil instanceof Date);
      assert.equal(extended.id, task!.id);
      assert(Math.abs(extended.leaseUntil.getTime() - before.getTime() - 540_000) < 60_000);
      assert.deepEqual(await extendLease(db, spec, [task!]), [extended]);
      await release(db, spec, task!);
      assert.deepEqual(await extendLease(db, spec, task!), []);
    },
  },
  {
    name: "markStarted writes down that a handler begins",
    async run({ db }) {
      const spec = job();
      const { id } = await enqueue(db, spec, 1);
      const [task] = await claim(db, spec, { limit: 1, started: false });
      assert.equal((await rowOf(db, id)).startedAt, null);
      assert.deepEqual(await markStarted(db, spec, [task!]), [{ id }]);
      assert((await rowOf(db, id)).startedAt instanceof Date);
    },
  },
  {
    name: "heldBy tells what is lost and what is gone",
    async run({ db }) {
      const spec = job();
      const [ended, gone, held] = await claimNew(db, spec, 3);
      await finalize(
        db,
        spec,
        [ended!, gone!].map((task) => ({ task, result: done() })),
      );
      await pgqueue.requeue(db, gone!.id);
      await tick(db);
      await pgqueue.purge(db, { queue: spec, status: "completed", olderThan: 0, limit: 10 });
      assert.deepEqual(await heldBy(db, spec, [held!, gone!, ended!]), [
        { id: held!.id, holding: "busy", status: "running" },
        { id: gone!.id, holding: "lost", status: "pending" },
        { id: ended!.id, holding: "gone" },
      ]);
    },
  },
  {
    name: "bulk statements pass over a row that another transaction holds, finalizeOrThrow waits for it",
    needs: ["connections"],
    async run(subject) {
      const { db } = subject;
      const spec = job();
      const [busy, free] = await claimNew(db, spec, 2);
      const other = await subject.another();
      let waiting: Promise<void> | undefined;
      await other.transaction(async (tx) => {
        await extendLease(tx, spec, busy!, "20m");
        assert.equal((await extendLease(db, spec, [busy!, free!])).length, 1);
        assert.deepEqual(
          await finalize(
            db,
            spec,
            [busy!, free!].map((task) => ({ task, result: done() })),
          ),
          [{ id: free!.id }],
        );
        assert.deepEqual(await release(db, spec, busy!), []);
        assert.equal((await heldBy(db, spec, [busy!]))[0]?.holding, "busy");
        waiting = finalizeOrThrow(db, spec, { task: busy!, result: done() });
        waiting.catch(() => {});
      });
      await waiting;
      assert.equal((await rowOf(db, busy!.id)).status, "completed");
    },
  },
  {
    name: "reap ends expired claims as a retry would",
    async run({ db }) {
      const spec = job({ retryDelay: "10m", maxRetries: 1 });
      const [again, over, held] = await claimNew(db, spec, 3);
      for (const { id } of [again!, over!]) await expire(db, id);
      await db.transaction(async (tx) => {
        assert.deepEqual(await reap(tx, spec, { limit: 1 }), [{ id: again!.id, status: "pending" }]);
      });
      await pgqueue.requeue(db, again!.id);
      const last = job({ queue: spec.queue, maxRetries: 0 });
      assert.deepEqual(await reap(db, last), [{ id: over!.id, status: "failed" }]);
      assert.deepEqual(await reap(db, spec), []);
      const row = await rowOf(db, over!.id);
      assert.deepEqual([row.errors?.[0]?.name, row.errors?.[0]?.attempt], ["LeaseExpiredError", 1]);
      assert.match(row.errors?.[0]?.at ?? "", /^\d{4}-\d\d-\d\dT.*Z$/);
      assert.equal((await rowOf(db, held!.id)).status, "running");
    },
  },
  {
    name: "a reaped ticker waits for its next tick",
    async run({ db }) {
      const spec = ticker({ maxRetries: 0, every: "1h" });
      const { id } = await upsertTicker(db, spec);
      await claimOne(db, spec);
      await expire(db, id);
      assert.deepEqual(await reap(db, spec), [{ id, status: "pending" }]);
      const row = await rowOf(db, id);
      assert.equal(row.attempt, 0);
      assert(Math.abs(row.runAt.getTime() - Date.now() - 3_600_000) < 60_000);
    },
  },
];
