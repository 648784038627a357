import assert from "node:assert/strict";
import { done, fail, retry, StaleClaimError, skip } from "pgqueue";
import type { Case } from "../case.ts";
import { effects, effectsOf } from "../effects.ts";
import { claimNew, claimOne, expire, job, makeDue, pgqueue, rowOf, ticker } from "../shop.ts";

const { enqueue, finalize, finalizeOrThrow, getTask, listTasks, reap, upsertTicker } = pgqueue;

export const finalizeCases: readonly Case[] = [
  {
    name: "finalize deletes what is not retained, beside what stays",
    async run({ db }) {
      const spec = job({ retain: { completed: 0 } });
      const tasks = await claimNew(db, spec, 4);
      const results = [done(), retry("later"), done("output"), fail("no")];
      const mixed = tasks.slice(0, 3).map((task, i) => ({ task, result: results[i]! }));
      const applied = await finalize(db, spec, mixed);
      assert.deepEqual(
        applied.map(({ id }) => id).sort(),
        tasks
          .slice(0, 3)
          .map(({ id }) => id)
          .sort(),
      );
      const left = async () => (await listTasks(db, { queue: spec })).map(({ id }) => id).sort();
      assert.deepEqual(await left(), [tasks[1]!.id, tasks[3]!.id].sort());
      assert.deepEqual(await finalize(db, spec, { task: tasks[3]!, result: done() }), [{ id: tasks[3]!.id }]);
      assert.deepEqual(await left(), [tasks[1]!.id]);
    },
  },
  {
    name: "finalize applies mixed results in one statement",
    async run({ db }) {
      const spec = job({ retryDelay: "10m", maxRetries: 1 });
      const tasks = await claimNew(db, spec, 5);
      const results = [done(), done({ sent: [1] }), retry(new RangeError("later $1 'x'")), fail("no"), skip("skipped")];
      const applied = await finalize(
        db,
        spec,
        tasks.map((task, i) => ({ task, result: results[i]! })),
      );
      assert.deepEqual(applied.map(({ id }) => id).sort(), tasks.map(({ id }) => id).sort());
      assert(applied.every(({ id }) => typeof id === "number"));
      const rows = await Promise.all(tasks.map(({ id }) => rowOf(db, id)));
      assert.deepEqual(
        rows.map(({ status, output, claimToken }) => [status, output, claimToken]),
        [
          ["completed", null, null],
          ["completed", { sent: [1] }, null],
          ["pending", null, null],
          ["failed", null, null],
          ["failed", null, null],
        ],
      );
      assert.deepEqual(
        rows.map(({ finishedAt }) => finishedAt instanceof Date),
        [true, true, false, true, true],
      );
      assert(Math.abs(rows[2]!.runAt.getTime() - Date.now() - 600_000) < 60_000);
      const [error, ...more] = rows[2]!.errors!;
      assert.deepEqual([more.length, error?.attempt, error?.name], [0, 1, "RangeError"]);
      assert.equal(error?.message, "later $1 'x'");
      assert.match(error?.stack ?? "", /RangeError/);
      assert.match(error?.at ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
      assert.equal(rows[3]!.errors?.[0]?.message, "no");
    },
  },
  {
    name: "errors gather with the newest first, and the last retry fails",
    async run({ db }) {
      const spec = job({ maxRetries: 2, retryDelay: 0 });
      const { id } = await enqueue(db, spec, 1);
      for (const message of ["first", "second ünïcødé", '{"third":1}']) {
        await makeDue(db, spec);
        await finalize(db, spec, { task: await claimOne(db, spec), result: retry(new Error(message)) });
      }
      const [task] = await getTask(db, id);
      assert.deepEqual([task?.status, task?.attempt], ["failed", 3]);
      assert.deepEqual(
        task?.errors?.map(({ attempt, message }) => [attempt, message]),
        [
          [3, '{"third":1}'],
          [2, "second ünïcødé"],
          [1, "first"],
        ],
      );
    },
  },
  {
    name: "a ticker keeps a changed payload and waits for its next tick",
    async run({ db }) {
      const spec = ticker({ every: "1h" });
      const { id } = await upsertTicker(db, spec);
      await finalize(db, spec, { task: await claimOne(db, spec), result: done(), payload: { cursor: 5 } });
      const row = await rowOf(db, id);
      assert.deepEqual([row.status, row.attempt, row.payload], ["pending", 0, { cursor: 5 }]);
      assert(Math.abs(row.runAt.getTime() - Date.now() - 3_600_000) < 60_000);
      await makeDue(db, spec);
      await finalize(db, spec, { task: await claimOne(db, spec), result: skip("no news"), payload: { cursor: 6 } });
      assert.deepEqual((await rowOf(db, id)).payload, { cursor: 6 });
    },
  },
  {
    name: "finalizeOrThrow commits with the effect",
    async run({ db }) {
      const spec = job();
      const [task] = await claimNew(db, spec, 1);
      await db.transaction(async (tx) => {
        await tx.insert(effects).values({ key: `task ${task!.id}` });
        await finalizeOrThrow(tx, spec, { task: task!, result: done("yes") });
      });
      assert.equal((await rowOf(db, task!.id)).output, "yes");
      assert.equal(await effectsOf(db, `task ${task!.id}`), 1);
    },
  },
  {
    name: "a stale claim throws, and its effect is rolled back",
    async run({ db }) {
      const spec = job({ retryDelay: 0 });
      const [stale] = await claimNew(db, spec, 1);
      await expire(db, stale!.id);
      assert.deepEqual(await reap(db, spec), [{ id: stale!.id, status: "pending" }]);
      await makeDue(db, spec);
      const fresh = await claimOne(db, spec);
      const business = db.transaction(async (tx) => {
        await tx.insert(effects).values({ key: `task ${stale!.id}` });
        await finalizeOrThrow(tx, spec, { task: stale!, result: done() });
      });
      await assert.rejects(business, (error) => {
        assert(error instanceof StaleClaimError);
        assert.deepEqual([error.code, error.taskId], ["PGQUEUE_STALE_CLAIM", stale!.id]);
        return true;
      });
      assert.equal(await effectsOf(db, `task ${stale!.id}`), 0);
      assert.deepEqual(await finalize(db, spec, { task: stale!, result: done() }), []);
      assert.deepEqual(await finalize(db, spec, { task: fresh, result: done() }), [{ id: fresh.id }]);
    },
  },
];
