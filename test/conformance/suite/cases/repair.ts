import assert from "node:assert/strict";
import { sql } from "drizzle-orm";
import { ConflictError, done, fail } from "pgqueue";
import type { Case } from "../case.ts";
import { claimNew, claimOne, job, makeDue, pgqueue, rowOf, tasks, ticker } from "../shop.ts";

const { claim, disable, enable, enqueue, enqueueMany, finalize, getTask, listTasks } = pgqueue;
const { pauseQueue, purge, replacePayload, requeue, stats, upsertTicker } = pgqueue;

export const repairCases: readonly Case[] = [
  {
    name: "disable and enable answer with the row as it is now",
    async run({ db }) {
      const spec = job();
      const [task] = await claimNew(db, spec, 1);
      const [disabled] = await disable(db, task!.id);
      assert.deepEqual([disabled?.id, disabled?.status, disabled?.attempt], [task!.id, "disabled", 1]);
      assert.deepEqual(await disable(db, task!.id), []);
      assert.deepEqual(await finalize(db, spec, { task: task!, result: done() }), []);
      const [enabled] = await enable(db, task!.id);
      assert.deepEqual([enabled?.status, enabled?.attempt, enabled?.payload], ["pending", 0, 0]);
      assert(enabled?.runAt instanceof Date);
      assert.deepEqual(await enable(db, task!.id), []);
      await claimOne(db, spec);
    },
  },
  {
    name: "enable gives way to another holder of an active hash",
    async run({ db }) {
      const spec = job({ dedup: "active", hash: () => "one" });
      const { id } = await enqueue(db, spec, 1);
      await finalize(db, spec, { task: await claimOne(db, spec), result: fail("no") });
      await enqueue(db, spec, 2);
      assert.deepEqual(await enable(db, id), []);
      assert.deepEqual(await requeue(db, id), []);
    },
  },
  {
    name: "requeue makes a task pending at a moment",
    async run({ db }) {
      const spec = job();
      const [task] = await claimNew(db, spec, 1);
      assert.deepEqual(await requeue(db, task!.id), []);
      await finalize(db, spec, { task: task!, result: done() });
      const runAt = new Date("2031-02-03T04:05:06.789Z");
      const [queued] = await requeue(db, task!.id, runAt);
      assert.deepEqual([queued?.status, queued?.attempt, queued?.finishedAt], ["pending", 0, null]);
      assert.deepEqual(queued?.runAt, runAt);
      const [now] = await requeue(db, task!.id);
      assert(now!.runAt.getTime() < Date.now() + 60_000);
    },
  },
  {
    name: "replacePayload changes a task that is not running",
    async run({ db }) {
      const spec = job();
      const { id } = await enqueue(db, spec, { a: 1 });
      const replaced = await replacePayload(db, spec, id, { b: [2] });
      assert.deepEqual([replaced?.id, replaced?.payload], [id, { b: [2] }]);
      assert.deepEqual((await claimOne(db, spec)).payload, { b: [2] });
      await assert.rejects(replacePayload(db, spec, id, 3), ConflictError);
      assert.equal(await replacePayload(db, job(), id, 3), undefined);
    },
  },
  {
    name: "purge deletes what ended long enough ago, and never a ticker",
    async run({ db }) {
      const spec = job();
      const tick = ticker({ queue: spec.queue });
      await upsertTicker(db, tick);
      await finalize(db, tick, { task: await claimOne(db, tick), result: fail("no") });
      const [old, fresh, failed] = await claimNew(db, spec, 3);
      await finalize(db, spec, [
        { task: old!, result: done() },
        { task: fresh!, result: done() },
        { task: failed!, result: fail("no") },
      ]);
      await db.execute(sql`
        update ${tasks} set finished_at = finished_at - interval '2 days'
        where queue = ${spec.queue} and id <> ${fresh!.id}`);
      const options = { queue: spec, olderThan: "1d", limit: 100 } as const;
      assert.deepEqual(await purge(db, { ...options, status: "completed" }), [{ id: old!.id }]);
      assert.deepEqual(await purge(db, { ...options, status: "failed" }), [{ id: failed!.id }]);
      assert.equal((await listTasks(db, { queue: spec })).length, 2);
    },
  },
  {
    name: "stats counts each status in numbers",
    async run({ db }) {
      const spec = job();
      const [completed, failed, running] = await claimNew(db, spec, 3);
      await finalize(db, spec, [
        { task: completed!, result: done() },
        { task: failed!, result: fail("no") },
      ]);
      const [due, , disabled] = await enqueueMany(db, spec, [
        { payload: 1 },
        { payload: 2, delay: "1h" },
        { payload: 3 },
      ]);
      await disable(db, disabled!.id);
      const [paused] = await pauseQueue(db, spec);
      const row = (await stats(db)).find(({ queue }) => queue === spec.queue);
      assert.deepEqual(row, {
        queue: spec.queue,
        pending: 2,
        due: 1,
        running: 1,
        completed: 1,
        failed: 1,
        disabled: 1,
        oldestDue: (await rowOf(db, due!.id)).runAt,
        pausedAt: paused!.pausedAt,
      });
      assert.equal((await rowOf(db, running!.id)).status, "running");
    },
  },
  {
    name: "getTask shows all of a task but its token",
    async run({ db }) {
      const spec = job({ hash: () => "h" });
      const { id } = await enqueue(db, spec, { a: 1 }, { priority: 4, maxRetries: 7, meta: { m: 1 } });
      await claim(db, spec, { limit: 1, workerId: "w" });
      const row = await rowOf(db, id);
      const [task] = await getTask(db, id);
      assert(task?.leaseUntil instanceof Date && task.claimedAt instanceof Date);
      assert.deepEqual(task, {
        id,
        queue: spec.queue,
        kind: "job",
        key: null,
        hash: "h",
        status: "running",
        priority: 4,
        payload: { a: 1 },
        output: null,
        errors: null,
        attempt: 1,
        maxRetries: 7,
        runAt: row.runAt,
        claimedBy: "w",
        claimedAt: row.claimedAt,
        leaseUntil: row.leaseUntil,
        meta: { m: 1 },
        createdAt: row.createdAt,
        finishedAt: null,
        columns: {},
      });
      assert.deepEqual(await getTask(db, Number.MAX_SAFE_INTEGER), []);
    },
  },
  {
    name: "listTasks filters, and pages from the highest id down",
    async run({ db }) {
      const spec = job();
      const answers = await enqueueMany(
        db,
        spec,
        Array.from({ length: 5 }, (_, payload) => ({ payload })),
      );
      await upsertTicker(db, ticker({ queue: spec.queue }));
      await disable(db, answers[3]!.id);
      await makeDue(db, spec);
      const filter = { queue: spec, kind: "job", limit: 2 } as const;
      const pages: unknown[] = [];
      for (let before: number | undefined; ; ) {
        const page = await listTasks(db, { ...filter, before });
        pages.push(page.map(({ payload }) => payload));
        if (page.length < 2) break;
        before = page.at(-1)!.id;
      }
      assert.deepEqual(pages, [[4, 3], [2, 1], [0]]);
      const where = sql`(${tasks.payload} #>> '{}')::int > ${1}::int`;
      assert.deepEqual(
        (await listTasks(db, { queue: spec.queue, kind: "job", status: "pending", where })).map(
          ({ payload }) => payload,
        ),
        [4, 2],
      );
    },
  },
];
