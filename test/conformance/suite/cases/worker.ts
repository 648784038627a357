import assert from "node:assert/strict";
import { sql } from "drizzle-orm";
import { done, fail, retry, skip } from "pgqueue";
import * as v from "valibot";
import type { Case } from "../case.ts";
import { effects, effectsOf } from "../effects.ts";
import { Observed } from "../observed.ts";
import { rowsOf } from "../rows.ts";
import { job, makeDue, pgqueue, rowOf, tasks, ticker } from "../shop.ts";

const { enqueue, enqueueMany, getTask, requeue, upsertTicker } = pgqueue;

export const workerCases: readonly Case[] = [
  {
    name: "drain runs what is due: a retry, then done",
    async run(subject) {
      const { db } = subject;
      const spec = job({ retryDelay: "1h" });
      const { id } = await enqueue(db, spec, { a: '{"b":1}' }, { meta: { trace: 1 } });
      const seen: unknown[] = [];
      const observed = new Observed(subject, { listen: false });
      observed.worker.register(spec, (run) => {
        seen.push([run.id, run.payload, run.attempt, run.maxRetries, run.meta, run.columns]);
        if (run.attempt === 1) throw new TypeError("not yet");
        return done({ sent: true });
      });
      assert.equal(await observed.worker.drain(), 1);
      assert.equal(await observed.worker.drain(), 0);
      await makeDue(db, spec);
      assert.equal(await observed.worker.drain(), 1);
      assert.deepEqual(
        seen,
        [1, 2].map((attempt) => [id, { a: '{"b":1}' }, attempt, 3, { trace: 1 }, {}]),
      );
      const [task] = await getTask(db, id);
      assert.deepEqual([task?.status, task?.output, task?.attempt], ["completed", { sent: true }, 2]);
      assert.deepEqual([task?.errors?.length, task?.errors?.[0]?.name], [1, "TypeError"]);
      observed.assertNoFault();
    },
  },
  {
    name: "a started worker finds work by polling, retries it when its time comes, and stops",
    async run(subject) {
      const spec = job({ pollInterval: 20, retryDelay: 1 });
      const observed = new Observed(subject, { listen: false });
      const runs: number[] = [];
      observed.worker.register(spec, ({ attempt }) => {
        runs.push(attempt);
        return attempt === 1 ? retry("once more") : done();
      });
      await observed.worker.start();
      const { id } = await enqueue(subject.db, spec, 1);
      await observed.settled(2);
      await observed.worker.stop();
      assert.deepEqual(runs, [1, 2]);
      assert.equal((await rowOf(subject.db, id)).status, "completed");
      observed.assertNoFault();
    },
  },
  {
    name: "LISTEN wakes a worker that polls once a minute",
    needs: ["listen"],
    async run(subject) {
      const { db } = subject;
      const spec = job({ pollInterval: "1m" });
      const observed = new Observed(subject);
      observed.worker.register(spec, () => done());
      await observed.worker.start();
      const { id } = await enqueue(db, spec, 1);
      await observed.settled(1, 3_000);
      // Each of these is missed but for a notification, or happens to meet a claim on its way.
      for (let count = 2; count < 11; count += 3) {
        await enqueue(db, spec, 1);
        await observed.settled(count, 3_000);
        await enqueueMany(db, spec, [{ payload: 1 }]);
        await observed.settled(count + 1, 3_000);
        await requeue(db, id);
        await observed.settled(count + 2, 3_000);
      }
      await observed.worker.stop();
      observed.assertNoFault();
    },
  },
  {
    name: "one worker runs many tasks of several queues, each once",
    async run(subject) {
      const { db } = subject;
      const specs = [job({ pollInterval: 20 }), job({ pollInterval: 20 })];
      const observed = new Observed(subject, { concurrency: 7 });
      const seen: unknown[] = [];
      for (const spec of specs) {
        observed.worker.register(spec, ({ id, payload }) => {
          seen.push(id);
          return [done(payload), fail("no"), skip("skipped")][payload % 3];
        });
        const items = Array.from({ length: 60 }, (_, payload) => ({ payload }));
        await enqueueMany(db, spec, items);
      }
      await observed.worker.start();
      await observed.settled(120);
      await observed.worker.stop();
      assert.equal(new Set(seen).size, 120);
      for (const spec of specs) {
        const counts = await rowsOf(
          db,
          sql`select status, count(*)::int as count from ${tasks} where queue = ${spec.queue} group by 1 order by 1`,
        );
        assert.deepEqual(
          counts.map(({ status, count }) => [status, count]),
          [
            ["completed", 20],
            ["failed", 40],
          ],
        );
      }
      observed.assertNoFault();
    },
  },
  {
    name: "ctx.finalize commits the end of a task with its effect, and extendLease moves its lease",
    async run(subject) {
      const { db } = subject;
      const spec = job();
      const { id } = await enqueue(db, spec, 1);
      const observed = new Observed(subject, { listen: false });
      observed.worker.register(spec, async (run, ctx) => {
        await ctx.extendLease("20m");
        await db.transaction(async (tx) => {
          await tx.insert(effects).values({ key: `run ${run.id}` });
          await ctx.finalize(tx, done("in time"));
        });
      });
      await observed.worker.drain();
      assert.equal(await effectsOf(db, `run ${id}`), 1);
      assert.equal((await rowOf(db, id)).output, "in time");
      observed.assertNoFault();
    },
  },
  {
    name: "a handler whose transaction fails leaves no effect, and runs again",
    async run(subject) {
      const { db } = subject;
      const spec = job({ retryDelay: 0 });
      const { id } = await enqueue(db, spec, 1);
      await db.insert(effects).values({ key: `taken ${id}` });
      const observed = new Observed(subject, { listen: false });
      observed.worker.register(spec, async ({ attempt }, ctx) => {
        await db.transaction(async (tx) => {
          await tx.insert(effects).values({ key: `try ${attempt} of ${id}` });
          await ctx.finalize(tx, done());
          if (attempt === 1) await tx.insert(effects).values({ key: `taken ${id}` });
        });
      });
      await observed.worker.drain();
      await makeDue(db, spec);
      await observed.worker.drain();
      assert.deepEqual(await Promise.all([1, 2].map((n) => effectsOf(db, `try ${n} of ${id}`))), [0, 1]);
      const row = await rowOf(db, id);
      assert.deepEqual([row.status, row.errors?.length], ["completed", 1]);
      observed.assertNoFault();
    },
  },
  {
    name: "a ticker's changed payload is there at its next run",
    async run(subject) {
      const { db } = subject;
      const spec = ticker({ initialPayload: { cursor: 1 }, every: "1h" });
      const seen: number[] = [];
      const observed = new Observed(subject, { listen: false });
      observed.worker.register(spec, ({ payload }) => {
        seen.push(payload.cursor);
        payload.cursor *= 2;
        return seen.length === 2 ? retry("not kept") : done();
      });
      for (let i = 0; i < 4; i++) {
        assert.equal(await observed.worker.drain(), 1);
        await makeDue(db, spec);
      }
      assert.deepEqual(seen, [1, 2, 2, 4]);
      const { id, deduplicated } = await upsertTicker(db, spec);
      assert.deepEqual([deduplicated, (await rowOf(db, id)).payload], [true, { cursor: 8 }]);
      observed.assertNoFault();
    },
  },
  {
    name: "a payload that its schema no longer accepts fails with a PayloadError",
    async run(subject) {
      const { db } = subject;
      const spec = job();
      const { id } = await enqueue(db, spec, { orderId: "seven" });
      const strict = job({ queue: spec.queue, payload: v.object({ orderId: v.number() }) as never });
      const observed = new Observed(subject, { listen: false });
      observed.worker.register(strict, () => assert.fail("it ran"));
      await observed.worker.drain();
      const row = await rowOf(db, id);
      assert.deepEqual([row.status, row.errors?.[0]?.name], ["failed", "PayloadError"]);
    },
  },
];
