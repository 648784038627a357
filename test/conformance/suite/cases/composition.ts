import assert from "node:assert/strict";
import { eq, sql } from "drizzle-orm";
import { withReplicas } from "drizzle-orm/pg-core";
import { createWorker, done } from "pgqueue";
import type { Case } from "../case.ts";
import type { Database } from "../driver.ts";
import { claimNew, job, pgqueue, rowOf, tasks, ticker } from "../shop.ts";

const { claim, enqueue, enqueueMany, finalize, getTask, heldBy, listTasks, stats, upsertTicker } = pgqueue;

export const compositionCases: readonly Case[] = [
  {
    name: "a claim is a CTE of your own query",
    async run({ db }) {
      const spec = job();
      await enqueueMany(db, spec, [{ payload: { n: 1 }, meta: { m: 1 } }, { payload: { n: 2 } }]);
      const claimed = db.$with("claimed").as(claim(db, spec, { limit: 5 }));
      const rows = await db
        .with(claimed)
        .select({ id: claimed.id, payload: claimed.payload, runAt: claimed.runAt, meta: claimed.meta })
        .from(claimed)
        .orderBy(claimed.id);
      assert.deepEqual(
        rows.map(({ payload, meta }) => [payload, meta]),
        [
          [{ n: 1 }, { m: 1 }],
          [{ n: 2 }, null],
        ],
      );
      assert(rows.every(({ id, runAt }) => typeof id === "number" && runAt instanceof Date));
      for (const { id } of rows) assert.equal((await rowOf(db, id)).status, "running");
    },
  },
  {
    name: "finalize is a CTE beside a statement of your own",
    async run({ db }) {
      const spec = job();
      const claims = await claimNew(db, spec, 2);
      const outcomes = claims.map((task) => ({ task, result: done(1) }));
      const ended = db.$with("ended").as(finalize(db, spec, outcomes));
      const [row] = await db
        .with(ended)
        .select({ count: sql<number>`count(*)::int`, least: sql<string>`min(${ended.id})::text` })
        .from(ended);
      assert.deepEqual(row, { count: 2, least: String(claims[0]!.id) });
      assert.equal((await rowOf(db, claims[0]!.id)).status, "completed");
    },
  },
  {
    name: "listTasks joins your own tables as a CTE",
    async run({ db }) {
      const spec = job();
      const { id } = await enqueue(db, spec, "p");
      const listed = db.$with("listed").as(listTasks(db, { queue: spec }));
      const rows = await db
        .with(listed)
        .select({ id: tasks.id, payload: listed.payload, status: listed.status })
        .from(tasks)
        .innerJoin(listed, eq(listed.id, tasks.id));
      assert.deepEqual(rows, [{ id, payload: "p", status: "pending" }]);
    },
  },
  {
    name: "toSQL shows a statement, and sends nothing",
    async run({ db }) {
      const spec = job();
      await enqueue(db, spec, 1);
      const statement = claim(db, spec, { limit: 3 });
      const { sql: text, params } = statement.toSQL();
      assert.match(text, /^with .*update "pgqueue_tasks"/s);
      assert(params.includes(spec.queue) && params.includes(3));
      assert.equal((await stats(db)).find(({ queue }) => queue === spec.queue)?.pending, 1);
      assert.equal((await statement).length, 1);
    },
  },
  {
    name: "a database with replicas sends every statement to its primary",
    async run({ db }) {
      const replica = new Proxy(db, {
        get() {
          throw new Error("a statement went to the replica");
        },
      });
      const replicated = withReplicas(db as never, [replica as never]) as unknown as Database;
      const spec = job();
      const { id } = await enqueue(replicated, spec, 1);
      await enqueueMany(replicated, spec, [{ payload: 2, hash: "h" }]);
      await upsertTicker(replicated, ticker({ queue: spec.queue }));
      const claimed = await claim(replicated, spec, { limit: 2 });
      assert.equal((await heldBy(replicated, spec, claimed)).length, 2);
      await finalize(replicated, spec, { task: claimed[0]!, result: done() });
      assert.equal((await getTask(replicated, id)).length, 1);
      assert.equal((await listTasks(replicated, { queue: spec })).length, 3);
      const other = job();
      await enqueue(replicated, other, 1);
      const worker = createWorker({ db: replicated, pgqueue, listen: false }).register(other, () => done());
      assert.equal(await worker.drain(), 1);
    },
  },
];
