import { sql } from "drizzle-orm";
import { afterAll, expect, test } from "vitest";
import { createDatabase } from "../../postgres/database.ts";
import { claimAll, idsOf, job, pgqueue, rowOf, tasks } from "../jobs.ts";
import { begin, blocked } from "../transactions.ts";

// Rows change between the snapshot of a claim and its locks.

const database = await createDatabase({ migrated: true });
const { db, client } = database;
afterAll(database.end);

/** Claims; once the claim has its snapshot and before it has locked anything, the rows are changed. */
async function claimWhile(spec: ReturnType<typeof job>, change: () => PromiseLike<unknown>) {
  const gate = await begin(db);
  await gate.tx.execute(sql`select pg_advisory_xact_lock(1)`);
  const where = sql`(select pg_advisory_xact_lock_shared(1) is not null and ${tasks.id} > 0)`;
  const claimed = Promise.resolve(pgqueue.claim(db, spec, { limit: 10, where }));
  await blocked(database);
  await change();
  await gate.rollback();
  return (await claimed).sort((a, b) => a.id - b.id);
}

const enqueued = async (count: number) => {
  const spec = job();
  const items = Array.from({ length: count }, (_, payload) => ({ payload, priority: 5 }));
  await pgqueue.enqueueMany(db, spec, items);
  return { spec, ids: await idsOf(db, spec) };
};

test("those that no longer fit are left, each of the others is taken once", async () => {
  const { spec, ids } = await enqueued(7);
  const [kept, disabled, later, lower, higher, gone, completed] = ids as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const claimed = await claimWhile(spec, async () => {
    await pgqueue.disable(db, disabled);
    await client`update pgqueue_tasks set run_at = now() + interval '1 h' where id = ${later}`;
    await client`update pgqueue_tasks set priority = 7 where id = ${lower}`;
    await client`update pgqueue_tasks set priority = 0 where id = ${higher}`;
    await client`delete from pgqueue_tasks where id = ${gone}`;
    await client`update pgqueue_tasks set status = 'completed' where id = ${completed}`;
  });
  const first = claimed.map(({ id }) => id);
  expect(first).toContain(kept);
  const then = (await claimAll(db, spec)).map(({ id }) => id);
  expect([...first, ...then].sort((a, b) => a - b)).toEqual([kept, lower, higher]);
  expect((await rowOf(db, disabled)).status).toBe("disabled");
  expect((await rowOf(db, completed)).status).toBe("completed");
});

test("one that was claimed and given back meanwhile is counted on from there", async () => {
  const { spec, ids } = await enqueued(2);
  let between: number[] = [];
  const claimed = await claimWhile(spec, async () => {
    const taken = await claimAll(db, spec);
    between = taken.map(({ claims }) => claims);
    await pgqueue.release(db, spec, taken);
  });
  expect(between).toEqual([1, 1]);
  expect(claimed.map(({ id, claims, attempt }) => [id, claims, attempt])).toEqual(ids.map((id) => [id, 2, 1]));
});

test("one that another claim took meanwhile is not taken again", async () => {
  const { spec, ids } = await enqueued(3);
  let others: number[] = [];
  const claimed = await claimWhile(spec, async () => {
    others = (await pgqueue.claim(db, spec, { limit: 2 })).map(({ id }) => id);
  });
  expect([...others, ...claimed.map(({ id }) => id)]).toEqual(ids);
  for (const id of ids) expect(await rowOf(db, id)).toMatchObject({ claims: 1, attempt: 1 });
});

test("a pause is seen by the next claim, not by the one under way", async () => {
  const { spec, ids } = await enqueued(2);
  const claimed = await claimWhile(spec, () => pgqueue.pauseQueue(db, spec));
  expect(claimed.map(({ id }) => id)).toEqual(ids);
  await pgqueue.release(db, spec, claimed);
  expect(await claimAll(db, spec)).toEqual([]);
});
