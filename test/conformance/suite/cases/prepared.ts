import assert from "node:assert/strict";
import { eq, sql } from "drizzle-orm";
import { type Claimed, done, newClaimToken, type Statement } from "pgqueue";
import type { Case } from "../case.ts";
import type { Database } from "../driver.ts";
import { rowsOf } from "../rows.ts";
import { claimNew, claimOne, expire, job, pgqueue, rowOf, tasks, tick, ticker } from "../shop.ts";

const times = 10;
let names = 0;

/** The statement, prepared under a name: each call executes it. */
function prepared<Row>(statement: Statement<Row>): () => Promise<Row[]> {
  const query = (statement as unknown as { prepare(name: string): { execute(): Promise<Row[]> } }).prepare(
    `conformance_${++names}`,
  );
  return () => query.execute();
}

/** Puts the row of a claim back to where the claim left it. */
async function restore(db: Database, row: typeof tasks.$inferSelect): Promise<void> {
  const { id, ...values } = row;
  await db.update(tasks).set(values).where(eq(tasks.id, id));
}

async function tenTimes(run: (time: number) => Promise<void>): Promise<void> {
  for (let time = 0; time < times; time++) await run(time);
}

export const preparedCases: readonly Case[] = [
  {
    name: "prepared ten times: claim",
    needs: ["names"],
    async run({ db }) {
      const spec = job();
      const claim = prepared(pgqueue.claim(db, spec, { limit: 2 }));
      const held: Claimed<any>[] = [];
      await tenTimes(async (time) => {
        await pgqueue.enqueue(db, spec, { time });
        const claimed = await claim();
        assert.deepEqual(
          claimed.map(({ payload, attempt }) => [payload, attempt]),
          [[{ time }, 1]],
        );
        assert.deepEqual(await claim(), []);
        held.push(...claimed);
      });
      const outcomes = held.map((task) => ({ task, result: done() }));
      assert.equal((await pgqueue.finalize(db, spec, outcomes)).length, times);
      // One task again and again: the token repeats, and the count of claims tells a stale claim from the fresh one.
      const [first] = held;
      for (let time = 2; time < 5; time++) {
        await pgqueue.requeue(db, first!.id);
        const [again] = await claim();
        assert.deepEqual([again?.id, again?.claims], [first!.id, time]);
        assert.deepEqual(await pgqueue.finalize(db, spec, { task: first!, result: done() }), []);
        assert.equal((await pgqueue.finalize(db, spec, { task: again!, result: done() })).length, 1);
      }
    },
  },
  {
    name: "prepared ten times: markStarted, extendLease, finalize, release, releaseClaim",
    needs: ["names"],
    async run({ db }) {
      const spec = job();
      const { id } = await pgqueue.enqueue(db, spec, 1);
      const token = newClaimToken();
      const [task] = await pgqueue.claim(db, spec, { limit: 1, token });
      const row = await rowOf(db, id);
      const statements = [
        [pgqueue.markStarted(db, spec, task!), "running"],
        [pgqueue.extendLease(db, spec, task!, "20m"), "running"],
        [pgqueue.finalize(db, spec, { task: task!, result: done({ at: [1] }) }), "completed"],
        [pgqueue.release(db, spec, task!), "pending"],
        [pgqueue.releaseClaim(db, spec, token), "pending"],
      ] as const;
      for (const [statement, status] of statements) {
        const run = prepared(statement as Statement<{ id: number }>);
        await tenTimes(async () => {
          await restore(db, row);
          assert.deepEqual(
            (await run()).map((applied) => applied.id),
            [id],
          );
          assert.equal((await rowOf(db, id)).status, status);
          if (status !== "running") assert.deepEqual(await run(), []);
        });
      }
    },
  },
  {
    name: "prepared ten times: reap",
    needs: ["names"],
    async run({ db }) {
      const spec = job({ maxRetries: 0 });
      const reap = prepared(pgqueue.reap(db, spec, { limit: 5 }));
      await tenTimes(async () => {
        const [task] = await claimNew(db, spec, 1);
        assert.deepEqual(await reap(), []);
        await expire(db, task!.id);
        assert.deepEqual(await reap(), [{ id: task!.id, status: "failed" }]);
      });
    },
  },
  {
    name: "prepared ten times: disable, enable, requeue",
    needs: ["names"],
    async run({ db }) {
      const spec = job();
      const { id } = await pgqueue.enqueue(db, spec, 1);
      const [disable, enable] = [prepared(pgqueue.disable(db, id)), prepared(pgqueue.enable(db, id))];
      const requeue = prepared(pgqueue.requeue(db, id));
      await tenTimes(async (time) => {
        const ends = [await disable(), await enable(), await requeue(), await enable()];
        assert.deepEqual(
          ends.map(([row]) => row?.status),
          ["disabled", "pending", "pending", undefined],
        );
        await pgqueue.finalize(db, spec, { task: await claimOne(db, spec), result: done(time) });
        const [again] = await requeue();
        assert.deepEqual([again?.status, again?.output], ["pending", time]);
      });
    },
  },
  {
    name: "prepared ten times: pauseQueue, resumeQueue, purge",
    needs: ["names"],
    async run({ db }) {
      const spec = job();
      const [pause, resume] = [prepared(pgqueue.pauseQueue(db, spec)), prepared(pgqueue.resumeQueue(db, spec))];
      const purge = prepared(pgqueue.purge(db, { queue: spec, status: "completed", olderThan: 0, limit: 5 }));
      await tenTimes(async () => {
        assert((await pause())[0]?.pausedAt instanceof Date);
        assert.deepEqual(await resume(), [{ queue: spec.queue, pausedAt: null }]);
        const [task] = await claimNew(db, spec, 1);
        assert.deepEqual(await purge(), []);
        await pgqueue.finalize(db, spec, { task: task!, result: done() });
        await tick(db);
        assert.deepEqual(await purge(), [{ id: task!.id }]);
      });
    },
  },
  {
    name: "prepared ten times: getTask, listTasks, stats",
    needs: ["names"],
    async run({ db }) {
      const spec = job();
      const { id } = await pgqueue.enqueue(db, spec, 0);
      const get = prepared(pgqueue.getTask(db, id));
      const list = prepared(pgqueue.listTasks(db, { queue: spec, status: "pending", kind: "job", limit: 3 }));
      const stats = prepared(pgqueue.stats(db));
      await tenTimes(async (time) => {
        await pgqueue.replacePayload(db, spec, id, { time });
        assert.deepEqual((await get())[0]?.payload, { time });
        const newest = await pgqueue.enqueue(db, spec, time);
        assert.equal((await list())[0]?.id, newest.id);
        assert.equal((await stats()).find(({ queue }) => queue === spec.queue)?.due, time + 2);
      });
    },
  },
  {
    name: "ten times each: enqueue, enqueueMany, upsertTicker, replacePayload, heldBy, finalizeOrThrow",
    async run({ db }) {
      const [plain, retained] = [job(), job({ hash: (payload) => payload.hash })];
      const active = job({ hash: (payload) => payload.hash, dedup: "active" });
      await tenTimes(async (time) => {
        const payload = { time, hash: `hash ${time}` };
        for (const spec of [plain, retained, active]) {
          const one = await pgqueue.enqueue(db, spec, payload);
          const [many] = await pgqueue.enqueueMany(db, spec, [{ payload }]);
          assert.deepEqual([one.deduplicated, many?.deduplicated], [false, spec !== plain]);
          assert.deepEqual((await pgqueue.replacePayload(db, spec, one.id, [time]))?.payload, [time]);
          const claimed = await pgqueue.claim(db, spec, { limit: 2 });
          assert.equal(claimed.length, spec === plain ? 2 : 1);
          for (const task of claimed) {
            assert.equal((await pgqueue.heldBy(db, spec, [task]))[0]?.holding, "busy");
            await pgqueue.finalizeOrThrow(db, spec, { task, result: done() });
            assert.equal((await pgqueue.heldBy(db, spec, [task]))[0]?.holding, "lost");
          }
        }
        const tick = ticker({ queue: plain.queue, key: `key ${time}` });
        assert.equal((await pgqueue.upsertTicker(db, tick)).deduplicated, false);
        assert.equal((await pgqueue.upsertTicker(db, tick)).deduplicated, true);
      });
    },
  },
  {
    name: "in this cell statements are prepared, and planned generically",
    needs: ["generic"],
    async run({ db }) {
      const spec = job();
      await db.transaction(async (tx) => {
        await tenTimes(async (time) => {
          await pgqueue.enqueue(tx, spec, time);
          assert.equal((await claimOne(tx, spec)).payload, time);
        });
        const [row] = await rowsOf<{ mode: string; claims: number }>(
          tx as unknown as Database,
          sql`select current_setting('plan_cache_mode') as mode, count(*)::int as claims
            from pg_prepared_statements where statement like '%claim_token%'`,
        );
        assert.equal(row?.mode, "force_generic_plan");
        assert(row.claims > 0, "no claim is prepared");
      });
    },
  },
];
