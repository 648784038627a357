import assert from "node:assert/strict";
import { sql } from "drizzle-orm";
import { pgSchema } from "drizzle-orm/pg-core";
import { createPgqueue, createWorker, done, type Pgqueue, pgqueueTables, SchemaError } from "pgqueue";
import type { Case } from "../case.ts";
import { create } from "../creation.ts";
import type { Database } from "../driver.ts";
import { job, pgqueue, tick, ticker } from "../shop.ts";

/** A task's way through most statements. */
async function walk(db: Database, own: Pgqueue): Promise<void> {
  const spec = job({ hash: (payload) => String(payload), dedup: "active", retryDelay: 0 });
  const { id } = await own.enqueue(db, spec, 1);
  const answers = await own.enqueueMany(db, spec, [{ payload: 1 }, { payload: 2 }]);
  assert.deepEqual([answers[0]!.id, answers[1]!.deduplicated], [id, false]);
  await own.pauseQueue(db, spec);
  assert.deepEqual(await own.claim(db, spec, { limit: 5 }), []);
  await own.resumeQueue(db, spec);
  const [first, second] = await own.claim(db, spec, { limit: 5 });
  assert.equal((await own.extendLease(db, spec, [first!, second!], "20m")).length, 2);
  assert.deepEqual(await own.release(db, spec, second!), [{ id: second!.id }]);
  await own.finalizeOrThrow(db, spec, { task: first!, result: done("out") });
  assert.equal((await own.requeue(db, first!.id)).length, 1);
  assert.equal((await own.disable(db, first!.id)).length, 1);
  assert.equal((await own.enable(db, first!.id)).length, 1);
  assert.equal((await own.replacePayload(db, spec, first!.id, 3))?.payload, 3);
  assert.equal((await own.stats(db)).find(({ queue }) => queue === spec.queue)?.due, 2);
  const worker = createWorker({ db, pgqueue: own, listen: false });
  worker.register(spec, () => done("ran")).register(ticker(), () => done());
  assert.equal(await worker.drain(), 3);
  assert.deepEqual(await own.reap(db, spec), []);
  await tick(db);
  assert.equal((await own.purge(db, { queue: spec, status: "completed", olderThan: 0, limit: 5 })).length, 2);
}

export const tableCases: readonly Case[] = [
  {
    name: "two sets of tables stand side by side",
    async run({ db }) {
      const one = pgqueueTables({ prefix: "one_" });
      const two = pgqueueTables({ prefix: "two_" });
      await create(db, { a: one.tasks, b: one.queues, c: two.tasks, d: two.queues });
      const [first, second] = [createPgqueue(one), createPgqueue(two)];
      const spec = job();
      await first.enqueue(db, spec, "first", { hash: "h" });
      assert.deepEqual(await second.claim(db, spec, { limit: 1 }), []);
      assert.equal((await second.enqueue(db, spec, "second", { hash: "h" })).deduplicated, false);
      await second.pauseQueue(db, spec);
      assert.equal((await first.claim(db, spec, { limit: 5 }))[0]?.payload, "first");
      assert.deepEqual(await pgqueue.listTasks(db, { queue: spec }), []);
      await walk(db, first);
    },
  },
  {
    name: "the tables may be in a schema of your own",
    async run({ db }) {
      const schema = pgSchema("conformance Shop");
      const { tasks, queues } = pgqueueTables({ schema });
      await create(db, { schema, tasks, queues });
      await walk(db, createPgqueue({ tasks, queues }));
    },
  },
  {
    name: "the tables may be distributed, with a key of two columns",
    async run({ db }) {
      const { tasks, queues } = pgqueueTables({ prefix: "distributed_", distributed: true });
      await create(db, { tasks, queues });
      await walk(db, createPgqueue({ tasks, queues }));
    },
  },
  {
    name: "a missing table is a SchemaError that names it",
    async run({ db }) {
      const absent = createPgqueue(pgqueueTables({ prefix: "absent_" }));
      const isNamed = (error: unknown) => error instanceof SchemaError && error.missing === "absent_tasks";
      const spec = job();
      await assert.rejects(absent.enqueue(db, spec, 1), isNamed);
      await assert.rejects(absent.enqueueMany(db, spec, [{ payload: 1 }]), isNamed);
      await assert.rejects(absent.listTasks(db), isNamed);
      await assert.rejects(absent.stats(db), isNamed);
      await assert.rejects(absent.claim(db, spec, { limit: 1 }), SchemaError);
      const worker = createWorker({ db, pgqueue: absent, listen: false }).register(spec, () => done());
      await assert.rejects(worker.start(), SchemaError);
    },
  },
  {
    name: "a missing column is a SchemaError that names it",
    async run({ db }) {
      const { tasks, queues } = pgqueueTables({ prefix: "aged_" });
      await create(db, { tasks, queues });
      await db.execute(sql`alter table ${tasks} drop column meta`);
      const aged = createPgqueue({ tasks, queues });
      const isNamed = (error: unknown) => error instanceof SchemaError && /\bmeta$/.test(error.missing);
      await assert.rejects(aged.claim(db, job(), { limit: 1 }), isNamed);
      await assert.rejects(aged.getTask(db, 1), isNamed);
      await assert.rejects(aged.enqueue(db, job(), 1, { meta: { a: 1 } }), isNamed);
    },
  },
];
