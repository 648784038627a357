import assert from "node:assert/strict";
import { sql } from "drizzle-orm";
import { ConflictError, migrate } from "pgqueue";
import type { Case } from "../case.ts";
import type { Database } from "../driver.ts";
import { effects, effectsOf } from "../effects.ts";
import { claimOne, job, pgqueue } from "../shop.ts";
import { wide } from "../wide.ts";

const { enqueue, enqueueMany, listTasks } = pgqueue;

const tenant = "5b1c1f0e-6f2f-4a6e-8d0a-0f6d3f1e2a3b";

class Undo extends Error {}

async function undone(db: Database, run: (tx: Database) => Promise<unknown>): Promise<void> {
  const transaction = db.transaction(async (tx) => {
    await run(tx);
    throw new Undo();
  });
  await assert.rejects(transaction, Undo);
}

export const transactionCases: readonly Case[] = [
  {
    name: "a transaction takes its tasks along, committed or rolled back",
    async run({ db }) {
      const spec = job({ hash: (payload) => String(payload) });
      const enqueueAll = async (tx: Database) => {
        await tx.insert(effects).values({ key: spec.queue });
        await enqueue(tx, spec, 1);
        await enqueueMany(tx, spec, [{ payload: 2 }, { payload: 3, hash: null }]);
        assert.equal((await listTasks(tx, { queue: spec })).length, 3);
      };
      await undone(db, enqueueAll);
      assert.deepEqual(await listTasks(db, { queue: spec }), []);
      assert.equal(await effectsOf(db, spec.queue), 0);
      await db.transaction(enqueueAll);
      assert.equal((await listTasks(db, { queue: spec })).length, 3);
      assert.equal(await effectsOf(db, spec.queue), 1);
    },
  },
  {
    name: "an enqueue that fails in a nested transaction leaves the outer one usable",
    async run({ db }) {
      const spec = job();
      const columns = { tenant, code: "taken" };
      await wide.enqueue(db, spec, "first", { columns });
      await db.transaction(async (tx) => {
        await wide.enqueue(tx, spec, "before", { columns: { tenant } });
        await assert.rejects(
          tx.transaction((nested) => wide.enqueue(nested, spec, "of a taken code", { columns })),
          isUniqueViolation,
        );
        await assert.rejects(
          tx.transaction((nested) => wide.enqueueMany(nested, spec, [{ payload: "too", columns }])),
          isUniqueViolation,
        );
        await wide.enqueue(tx, spec, "after", { columns: { tenant } });
      });
      const payloads = (await wide.listTasks(db, { queue: spec })).map(({ payload }) => payload);
      assert.deepEqual(payloads, ["after", "before", "first"]);
    },
  },
  {
    name: "a nested transaction that commits is undone with the outer one",
    async run({ db }) {
      const spec = job();
      await undone(db, async (tx) => {
        await tx.transaction((nested) => enqueue(nested, spec, 1));
      });
      assert.deepEqual(await listTasks(db, { queue: spec }), []);
    },
  },
  {
    name: "a delay in a long transaction counts from the statement",
    async run({ db }) {
      const spec = job();
      await db.transaction(async (tx) => {
        await tx.execute(sql`select pg_sleep(0.05)`);
        await enqueue(tx, spec, 1);
        assert.equal((await claimOne(tx, spec)).payload, 1);
      });
    },
  },
  {
    name: "migrate may be called again, and by several at once",
    async run({ db, lacks }) {
      await migrate(db);
      if (!lacks.connections) await Promise.all([migrate(db), migrate(db), migrate(db)]);
    },
  },
  {
    name: "migrate makes the tables in the first schema of the path, and refuses those it did not make",
    async run({ db }) {
      await undone(db, async (tx) => {
        await tx.execute(sql`create schema conformance_empty`);
        await tx.execute(sql`set local search_path = conformance_empty`);
        await migrate(tx);
        await enqueue(tx, job(), 1);
        assert.equal((await listTasks(tx)).length, 1);
      });
      await undone(db, async (tx) => {
        await tx.execute(sql`create schema conformance_taken`);
        await tx.execute(sql`set local search_path = conformance_taken`);
        await tx.execute(sql`create table pgqueue_tasks (id int)`);
        await assert.rejects(migrate(tx), ConflictError);
        await tx.execute(sql`select 1`);
      });
    },
  },
];

/** Postgres' own error comes through, wherever the driver has it. */
function isUniqueViolation(error: unknown): boolean {
  for (let inner = error as any; inner; inner = inner.cause)
    if ([inner.code, inner.errno].includes("23505")) return true;
  return false;
}
