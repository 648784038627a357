import { afterAll, expect, test } from "vitest";
import { type Claimed, done, StaleClaimError } from "../../../src/index.ts";
import { createDatabase } from "../../postgres/database.ts";
import { claimNew, expire, job, pgqueue, rowOf } from "../jobs.ts";
import { begin, blocked, impatient } from "../transactions.ts";
import { extendNaively } from "./naive.ts";

// A lease runs out at the very moment its holder comes back.

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);

const expiredTask = async (spec: ReturnType<typeof job>): Promise<Claimed<any>> => {
  const [task] = await claimNew(db, spec, 1);
  await expire(db, task!.id);
  return task!;
};

test("finalize first: the reaper takes nothing, whether or not it commits", async () => {
  for (const end of ["commit", "rollback"] as const) {
    const spec = job();
    const task = await expiredTask(spec);
    const holder = await begin(db);
    expect(await pgqueue.finalize(holder.tx, spec, { task, result: done() })).toHaveLength(1);
    expect(await pgqueue.reap(db, spec)).toEqual([]);
    await holder[end]();
    expect(await pgqueue.reap(db, spec)).toHaveLength(end === "commit" ? 0 : 1);
  }
});

test("reap first: finalize applies nothing at once, finalizeOrThrow waits and throws", async () => {
  const spec = job();
  const task = await expiredTask(spec);
  const reaper = await begin(db);
  expect(await pgqueue.reap(reaper.tx, spec)).toHaveLength(1);
  expect(await pgqueue.finalize(db, spec, { task, result: done() })).toEqual([]);
  expect(await pgqueue.heldBy(db, spec, [task])).toMatchObject([{ id: task.id, holding: "busy" }]);
  const ended = pgqueue.finalizeOrThrow(db, spec, { task, result: done() }).catch((error) => error);
  await blocked(database);
  await reaper.commit();
  expect(await ended).toBeInstanceOf(StaleClaimError);
  expect(await pgqueue.heldBy(db, spec, [task])).toMatchObject([{ id: task.id, holding: "lost" }]);
  expect(await rowOf(db, task.id)).toMatchObject({ status: "pending", output: null });
});

test("reap first, and rolled back: finalizeOrThrow goes through", async () => {
  const spec = job();
  const task = await expiredTask(spec);
  const reaper = await begin(db);
  await pgqueue.reap(reaper.tx, spec);
  const ended = pgqueue.finalizeOrThrow(db, spec, { task, result: done() });
  await blocked(database);
  await reaper.rollback();
  await ended;
  expect((await rowOf(db, task.id)).status).toBe("completed");
});

test("two reapers at once take each task once", async () => {
  const spec = job({ retryDelay: "1h" });
  const tasks = await claimNew(db, spec, 200);
  await expire(db, ...tasks.map(({ id }) => id));
  const reaped = await Promise.all(Array.from({ length: 6 }, () => pgqueue.reap(db, spec, { limit: 60 })));
  const ids = reaped.flat().map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  while ((await pgqueue.reap(db, spec)).length > 0);
  const rows = await Promise.all(tasks.map(({ id }) => rowOf(db, id)));
  for (const row of rows) expect(row).toMatchObject({ status: "pending", attempt: 1, errors: [{ attempt: 1 }] });
});

test("written naively, as a read and then an update by token, it takes a lease that was just extended", async () => {
  const spec = job();
  const task = await expiredTask(spec);
  const [read] = await client`select id, claim_token from pgqueue_tasks where id = ${task.id} and lease_until < now()`;
  await extendNaively(client, [task]);
  const taken = await client`
    update pgqueue_tasks set status = 'pending', claim_token = null, lease_until = null
    where id = ${read!.id} and claim_token = ${read!.claim_token} returning id`;
  expect(taken).toHaveLength(1);
});
