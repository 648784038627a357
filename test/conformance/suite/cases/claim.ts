import assert from "node:assert/strict";
import { sql } from "drizzle-orm";
import { type Claimed, newClaimToken } from "pgqueue";
import type { Case } from "../case.ts";
import type { Database } from "../driver.ts";
import { claimOne, job, makeDue, pgqueue, rowOf, tasks, ticker } from "../shop.ts";

const { claim, enqueue, enqueueMany, pauseQueue, release, resumeQueue, upsertTicker } = pgqueue;

export const claimCases: readonly Case[] = [
  {
    name: "claim hands out all that a handler needs",
    async run({ db }) {
      const spec = job({ leaseDuration: "90s" });
      const runAt = new Date("2026-01-02T03:04:05.678Z");
      const { id } = await enqueue(db, spec, { orderId: 7 }, { runAt, maxRetries: 2, meta: { trace: 1 } });
      const token = newClaimToken();
      const [task] = await claim(db, spec, { limit: 1, workerId: "w'1", token });
      const row = await rowOf(db, id);
      assert(row.createdAt instanceof Date && row.leaseUntil instanceof Date && row.claimedAt instanceof Date);
      assert(task);
      const { exactRunAt, ...rest } = task;
      assert.deepEqual(new Date(exactRunAt), runAt);
      assert.deepEqual(rest, {
        id,
        queue: spec.queue,
        key: null,
        attempt: 1,
        maxRetries: 2,
        priority: 0,
        runAt,
        createdAt: row.createdAt,
        meta: { trace: 1 },
        payload: { orderId: 7 },
        columns: {},
        token,
        claims: 1,
        crashed: false,
      });
      assert.deepEqual([row.status, row.claimToken, row.claimedBy], ["running", token, "w'1"]);
      assert.equal(row.leaseUntil.getTime() - row.claimedAt.getTime(), 90_000);
      assert.deepEqual(row.startedAt, row.claimedAt);
    },
  },
  {
    name: "claim goes by priority, then run time, then id, up to its limit",
    async run({ db }) {
      const spec = job();
      const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);
      await enqueueMany(db, spec, [
        { payload: 5, priority: 9 },
        { payload: 3, priority: 1, runAt: ago(5) },
        { payload: 4, priority: 1, runAt: ago(5) },
        { payload: 1, runAt: ago(1) },
        { payload: 2, priority: 1, runAt: ago(9) },
        { payload: 0, runAt: ago(2) },
        { payload: "of the future", delay: "1h" },
      ]);
      const order: unknown[] = [];
      for (const limit of [1, 1, 2, 1, 5, 5]) {
        order.push((await claim(db, spec, { limit })).map(({ payload }) => payload).sort());
      }
      assert.deepEqual(order, [[0], [1], [2, 3], [4], [5], []]);
      await makeDue(db, spec);
      assert.equal((await claimOne(db, spec)).payload, "of the future");
    },
  },
  {
    name: "claim goes on after the tasks of an earlier one, at each level, to the microsecond",
    async run({ db }) {
      const spec = job();
      const items = [0, 0, 0, 4, 4].map((priority, payload) => ({ payload, priority }));
      await enqueueMany(db, spec, items);
      await db.execute(sql`update pgqueue_tasks set run_at = timestamptz '2026-01-02 03:04:05.000001Z' + id % 2 * interval '1 microsecond'
        where queue = ${spec.queue}`);
      const place = ({ priority, exactRunAt, id }: Claimed) =>
        `${priority} ${exactRunAt} ${String(id).padStart(12, "0")}`;
      const ordered = (await claim(db, spec, { limit: 9 })).sort((a, b) => (place(a) < place(b) ? -1 : 1));
      assert.equal(new Set(ordered.map(({ exactRunAt }) => exactRunAt)).size, 2);
      await release(db, spec, ordered);
      const after = [0, 4].map((level) => ordered.find(({ priority }) => priority === level)!);
      const rest = ordered.filter((task) => !after.includes(task)).map(({ id }) => id);
      const claimed = await claim(db, spec, { limit: 9, after });
      assert.deepEqual(claimed.map(({ id }) => id).sort(), rest.sort());
    },
  },
  {
    name: "claim takes what its condition lets through",
    async run({ db }) {
      const spec = job();
      await enqueueMany(
        db,
        spec,
        Array.from({ length: 6 }, (_, i) => ({ payload: { i } })),
      );
      const where = sql`${tasks.payload} ->> 'i' = ${"1"} or ${tasks.payload} ->> 'i' = ${"5"}`;
      const claimed = await claim(db, spec, { limit: 10, where });
      assert.deepEqual(claimed.map(({ payload }) => payload.i).sort(), [1, 5]);
    },
  },
  {
    name: "claim takes jobs for a job's spec, and the ticker of its key for a ticker's",
    async run({ db }) {
      const { queue } = job();
      const [jobs, one, two] = [job({ queue }), ticker({ queue, key: "one" }), ticker({ queue, key: "two" })];
      await enqueue(db, jobs, "job");
      await upsertTicker(db, one);
      await upsertTicker(db, two);
      assert.deepEqual((await claimOne(db, two)).key, "two");
      assert.deepEqual((await claimOne(db, jobs)).payload, "job");
      assert.deepEqual((await claimOne(db, one)).key, "one");
    },
  },
  {
    name: "a paused queue hands out nothing until it is resumed",
    async run({ db }) {
      const spec = job();
      await enqueue(db, spec, 1);
      assert.deepEqual(await resumeQueue(db, spec), []);
      const [paused] = await pauseQueue(db, spec);
      assert(paused?.pausedAt instanceof Date);
      assert.equal(paused.queue, spec.queue);
      assert.deepEqual(await pauseQueue(db, spec.queue), [paused]);
      assert.deepEqual(await claim(db, spec, { limit: 1 }), []);
      assert.deepEqual(await resumeQueue(db, spec), [{ queue: spec.queue, pausedAt: null }]);
      await claimOne(db, spec);
    },
  },
  {
    name: "four loops on two clients never share a task",
    needs: ["connections"],
    async run(subject) {
      const spec = job();
      const items = Array.from({ length: 300 }, (_, payload) => ({ payload, priority: payload % 3 }));
      const ids = (await enqueueMany(subject.db, spec, items)).map(({ id }) => id);
      const other = await subject.another();
      const loops = [subject.db, other, subject.db, other].map((db, i) => claimUntilEmpty(db, 3 + i * 5));
      const claimed = (await Promise.all(loops)).flat();
      // A claim may be empty although more is due, when others were faster.
      claimed.push(...(await claim(subject.db, spec, { limit: 300 })));
      assert.deepEqual(claimed.map(({ id }) => id).sort(ascending), ids.sort(ascending));
      assert(claimed.every(({ claims }) => claims === 1));

      async function claimUntilEmpty(db: Database, limit: number): Promise<Claimed[]> {
        const mine: Claimed[] = [];
        for (;;) {
          const batch = await claim(db, spec, { limit });
          if (batch.length === 0) return mine;
          mine.push(...batch);
        }
      }
    },
  },
  {
    name: "a claim does not wait for a row that another transaction holds",
    needs: ["connections"],
    async run(subject) {
      const spec = job();
      const [first] = await enqueueMany(subject.db, spec, [{ payload: 1 }, { payload: 2 }]);
      const other = await subject.another();
      await subject.db.transaction(async (tx) => {
        await tx.execute(sql`select 1 from ${tasks} where id = ${first!.id} for update`);
        assert.equal((await claimOne(other, spec)).payload, 2);
      });
      assert.equal((await claimOne(other, spec)).payload, 1);
    },
  },
];

function ascending(a: number, b: number): number {
  return a - b;
}
