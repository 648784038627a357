import { setTimeout as pause } from "node:timers/promises";
import { eq, sql } from "drizzle-orm";
import { afterAll, expect, test } from "vitest";
import { type Claimed, done, fail, retry, StaleClaimError } from "../../../src/index.ts";
import { databaseError } from "../../../src/queries/database-error.ts";
import { createDatabase } from "../../postgres/database.ts";
import { claimAll, expire, idsOf, job, makeDue, pgqueue, tasks } from "../jobs.ts";

// Claimers whose leases run out, a reaper, heartbeats, an operator, producers, retention and open transactions, on one queue.

const database = await createDatabase({
  migrated: true,
  client: { max: 20, connection: { deadlock_timeout: 100 } as never },
});
const { db, client } = database;
afterAll(database.end);
await client`create table effects (task_id bigint, claims int, primary key (task_id, claims))`;

const duration = 5_000;
const random = (below: number) => Math.floor(Math.random() * below);

test("no claim is handed out or ended twice, nothing deadlocks, and every task gets done", {
  timeout: 60_000,
}, async () => {
  const policy = { queue: job().queue, retryDelay: 10, maxRetries: 5 } as const;
  const patient = job({ ...policy, leaseDuration: "1m" });
  const hasty = job({ ...policy, leaseDuration: 30 });
  await client`truncate effects`;
  await pgqueue.enqueueMany(
    db,
    patient,
    Array.from({ length: 1_500 }, (_, payload) => ({ payload, priority: payload % 3 })),
  );
  const first = (await idsOf(db, patient))[0]!;

  const until = performance.now() + duration;
  const unexpected: unknown[] = [];
  const handedOut: string[] = [];
  const ended: string[] = [];
  const counts = { lost: 0, busy: 0, stale: 0, reaped: 0, released: 0, extended: 0, disabled: 0, purged: 0 };
  const name = ({ id, claims }: Claimed<any>) => `${id}/${claims}`;
  const anyId = () => first + random(1_500);

  /** One of the actors, until time is up. An error is noted, whatever it is, and the actor goes on. */
  const actor = async (turn: () => Promise<unknown>) => {
    while (performance.now() < until) {
      try {
        await turn();
      } catch (error) {
        unexpected.push(databaseError(error).code ?? error);
      }
      await pause(1);
    }
  };

  const claimer = async () => {
    const spec = Math.random() < 0.3 ? hasty : patient;
    const claimed = await pgqueue.claim(db, spec, { limit: 20 });
    handedOut.push(...claimed.map(name));
    await pause(random(60));
    const [released, ...rest] = claimed;
    if (released && Math.random() < 0.3) counts.released += (await pgqueue.release(db, spec, released)).length;
    else if (released) rest.push(released);
    if (Math.random() < 0.5) counts.extended += (await pgqueue.extendLease(db, spec, rest)).length;
    await pgqueue.markStarted(db, spec, rest.slice(0, 3));

    const [own] = rest;
    if (own && Math.random() < 0.5) await settleInTransaction(own);
    let open = rest;
    while (open.length > 0) {
      const outcomes = open.map((task) => ({
        task,
        result: [done(), done(), done(), retry("x"), fail("x")][random(5)]!,
      }));
      const applied = new Set((await pgqueue.finalize(db, spec, outcomes)).map(({ id }) => id));
      ended.push(...open.filter(({ id }) => applied.has(id)).map(name));
      const others = open.filter(({ id }) => !applied.has(id));
      const holding = await pgqueue.heldBy(db, spec, others);
      open = others.filter((_, i) => holding[i]!.holding === "busy");
      counts.busy += open.length;
      counts.lost += others.length - open.length;
    }
  };
  const settleInTransaction = async (task: Claimed<any>) => {
    try {
      await db.transaction(async (tx) => {
        await tx.execute(sql`insert into effects values (${task.id}, ${task.claims})`);
        await pause(random(20));
        await pgqueue.finalizeOrThrow(tx, patient, { task, result: done("in a transaction") });
      });
      ended.push(name(task));
    } catch (error) {
      if (!(error instanceof StaleClaimError)) throw error;
      counts.stale++;
    }
  };
  const actors = [
    ...Array.from({ length: 4 }, () => claimer),
    async () => {
      counts.reaped += (await pgqueue.reap(db, patient)).length;
      await pause(10);
    },
    async () => {
      counts.disabled += (await pgqueue.disable(db, anyId())).length;
      await pgqueue.enable(db, anyId());
      await pgqueue.requeue(db, anyId());
    },
    async () => {
      await makeDueWithoutWaiting();
      await pause(50);
    },
    () =>
      db.transaction(async (tx) => {
        const ids = Array.from({ length: 30 }, anyId).sort((a, b) => a - b);
        await tx.execute(sql`select from ${tasks} where id in ${ids} order by id for no key update`);
        await pause(30);
      }),
    async () => {
      await pgqueue.enqueueMany(
        db,
        job({ ...policy, dedup: "active", hash: (p) => `h${p}` }),
        Array.from({ length: 10 }, () => ({ payload: random(50) })),
      );
      const purged = await pgqueue.purge(db, { queue: patient, status: "failed", olderThan: "1s", limit: 5 });
      counts.purged += purged.length;
      await pause(20);
    },
  ];
  const makeDueWithoutWaiting = () =>
    db.execute(sql`
      with later as (select id from ${tasks} where queue = ${policy.queue} and status = 'pending' and run_at > now() for no key update skip locked)
      update ${tasks} set run_at = statement_timestamp() where id = any(array(select id from later))`);
  await Promise.all(actors.map(actor));

  expect(unexpected).toEqual([]);
  expect(handedOut.length).toBeGreaterThan(200);
  expect(new Set(handedOut).size).toBe(handedOut.length);
  expect(new Set(ended).size).toBe(ended.length);
  const known = new Set(handedOut);
  expect(ended.filter((claim) => !known.has(claim))).toEqual([]);
  for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(0);

  const rows = await db.select().from(tasks).where(eq(tasks.queue, policy.queue));
  for (const { id, claims } of rows) {
    const all = Array.from({ length: claims }, (_, i) => `${id}/${i + 1}`);
    expect(all.filter((claim) => !known.has(claim))).toEqual([]);
    expect(known.has(`${id}/${claims + 1}`)).toBe(false);
  }
  const effects = await client`select task_id, claims from effects`;
  const settled = new Set(ended);
  expect(effects.filter((row) => !settled.has(`${row.task_id}/${row.claims}`))).toEqual([]);

  // What is left is done in peace.
  for (const { id, status } of rows) if (status === "disabled" || status === "failed") await pgqueue.enable(db, id);
  await expire(db, ...rows.filter(({ status }) => status === "running").map(({ id }) => id));
  while ((await pgqueue.reap(db, patient)).length > 0);
  await makeDue(db, patient);
  for (let left = await claimAll(db, patient); left.length > 0; left = await claimAll(db, patient)) {
    await pgqueue.finalize(
      db,
      patient,
      left.map((task) => ({ task, result: done() })),
    );
  }
  const [end] = (await pgqueue.stats(db)).filter(({ queue }) => queue === policy.queue);
  expect(end).toMatchObject({ pending: 0, running: 0, disabled: 0 });
});
