import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import type { Claimed } from "../../src/queries/claimed.ts";
import type { Outcome } from "../../src/queries/ends.ts";
import type { Db } from "../../src/queries/statement.ts";
import { done, retry } from "../../src/tasks/result.ts";
import type { Spec } from "../../src/tasks/spec.ts";
import type { WorkerEvent } from "../../src/worker/event.ts";
import { Lease } from "../../src/worker/lease.ts";
import { Settler } from "../../src/worker/settler.ts";
import { afterClosings } from "../../src/worker/turn.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresProxy } from "../postgres/proxy.ts";
import { claimNew, job, pgqueue, rowOf } from "../queries/jobs.ts";
import { recorded } from "../queries/recorder.ts";
import { begin } from "../queries/transactions.ts";
import { until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const rest = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function settling(db: Db, spec: Spec, sent = pgqueue) {
  const events: WorkerEvent[] = [];
  const pending: number[] = [];
  const closed = new AbortController();
  const host = {
    db,
    pgqueue: sent,
    workerId: "w",
    closing: new AbortController().signal,
    closed: closed.signal,
    nextTurn: afterClosings,
    report: (event: WorkerEvent) => void events.push(event),
  };
  const settler = new Settler(host, { spec, handler: () => {} }, (delay) => void pending.push(delay));
  const settle = (task: Claimed, result: Outcome["result"] = done(), leftOfLease = 60_000) => {
    const lease = new Lease(spec, task, performance.now() + leftOfLease - spec.leaseDuration);
    settler.settle({ task, lease }, { task, result }, 1);
  };
  return { settler, settle, closed, events, pending, types: () => events.map(({ type }) => type).sort() };
}

const statusOf = async ({ id }: Claimed) => (await rowOf(database.db, id)).status;

test("what ends in one turn of the event loop is written by one statement", async () => {
  const { db, statements } = recorded(database);
  const spec = job();
  const claimed = await claimNew(database.db, spec, 20);
  const { settler, settle, events } = settling(db, spec);
  for (const task of claimed) settle(task);
  await settler.idle();
  expect(statements).toHaveLength(1);
  expect(events).toHaveLength(20);
});

test("what gathers while a statement is under way goes together", async () => {
  const { db, statements } = recorded(database);
  const spec = job();
  const claimed = await claimNew(database.db, spec, 40);
  const { settler, settle } = settling(db, spec);
  for (const task of claimed) {
    settle(task);
    await rest(0);
  }
  await settler.idle();
  expect(statements.length).toBeLessThan(30);
  expect(new Set(await Promise.all(claimed.map(statusOf)))).toEqual(new Set(["completed"]));
});

test("nothing is reported before Postgres acknowledged it", async () => {
  const spec = job();
  const [task] = await claimNew(database.db, spec, 1);
  const { settler, settle, events } = settling(database.db, spec);
  settle(task!);
  await rest(0);
  expect(events).toEqual([]);
  await settler.idle();
  expect(await statusOf(task!)).toBe("completed");
});

test("tells when a retry will be due", async () => {
  const spec = job({ retryDelay: 1_234 });
  const [one, two] = await claimNew(database.db, spec, 2);
  const { settler, settle, pending } = settling(database.db, spec);
  settle(one!, retry("x"));
  settle(two!);
  await settler.idle();
  expect(pending).toEqual([1_234]);
});

test("a row locked by another transaction keeps nobody else, and is tried again", async () => {
  const spec = job();
  const [locked, ...others] = await claimNew(database.db, spec, 10);
  const { settler, settle, events } = settling(database.db, spec);
  const transaction = await begin(database.db);
  await transaction.tx.execute(`select 1 from pgqueue_tasks where id = ${locked!.id} for update`);
  for (const task of [locked!, ...others]) settle(task);
  await vi.waitFor(() => expect(events).toHaveLength(9), { timeout: 3_000, interval: 5 });
  await rest(100);
  expect(events).toHaveLength(9);
  await transaction.rollback();
  await settler.idle();
  expect(events.filter(({ type }) => type === "settled")).toHaveLength(10);
});

test("a row locked beyond the lease is given up", async () => {
  const spec = job();
  const [locked] = await claimNew(database.db, spec, 1);
  const { settler, settle, events } = settling(database.db, spec);
  const transaction = await begin(database.db);
  await transaction.tx.execute(`select 1 from pgqueue_tasks where id = ${locked!.id} for update`);
  settle(locked!, done(), 150);
  await settler.idle();
  await transaction.rollback();
  expect(events).toEqual([{ type: "lost", queue: spec.queue, taskId: locked!.id }]);
});

test("a lost claim and a deleted row are lost, the others settled", async () => {
  const spec = job();
  const [lost, gone, kept] = await claimNew(database.db, spec, 3);
  const { settler, settle, events } = settling(database.db, spec);
  await pgqueue.disable(database.db, lost!.id);
  await database.client`delete from pgqueue_tasks where id = ${gone!.id}`;
  for (const task of [lost!, gone!, kept!]) settle(task);
  await settler.idle();
  expect(events).toContainEqual({ type: "lost", queue: spec.queue, taskId: lost!.id });
  expect(events).toContainEqual({ type: "lost", queue: spec.queue, taskId: gone!.id });
  expect(events).toContainEqual(expect.objectContaining({ type: "settled", taskId: kept!.id }));
  expect(await statusOf(lost!)).toBe("disabled");
});

test("abandon leaves what is not written to its lease, and says so", async () => {
  const spec = job();
  const [locked] = await claimNew(database.db, spec, 1);
  const { db, statements } = recorded(database);
  const { settler, settle, events } = settling(db, spec);
  const transaction = await begin(database.db);
  await transaction.tx.execute(`select 1 from pgqueue_tasks where id = ${locked!.id} for update`);
  settle(locked!);
  // The row was locked, and it is being looked up.
  await until(() => statements.length === 2);
  settler.abandon();
  await settler.idle();
  await transaction.rollback();
  expect(events).toEqual([{ type: "abandoned", queue: spec.queue, taskId: locked!.id }]);
  expect(await statusOf(locked!)).toBe("running");
});

test("a serialization failure or deadlock is tried again, and told", async () => {
  const own = await createDatabase({ migrated: true });
  await own.client.unsafe(`
    create sequence refusals;
    create function refuse() returns trigger language plpgsql as $$ begin
      if new.status = 'completed' and nextval('refusals') <= 3 then raise deadlock_detected; end if;
      return new;
    end $$;
    create trigger refuse before update on pgqueue_tasks for each row execute function refuse();`);
  const spec = job();
  const claimed = await claimNew(own.db, spec, 5);
  const { settler, settle, types } = settling(own.db, spec);
  for (const task of claimed) settle(task);
  await settler.idle();
  expect(types()).toEqual(["error", "error", "error", ...Array(5).fill("settled")]);
  await own.end();
});

/** A database of its own, one connection to it, and what becomes of this many claimed tasks. */
async function apart(
  count: number,
  connection: Partial<postgres.ConnectionParameters>,
  prepare: (client: postgres.Sql) => Promise<unknown> = async () => {},
) {
  const own = await createDatabase({ migrated: true });
  await prepare(own.client);
  const spec = job();
  const claimed = await claimNew(own.db, spec, count);
  const client = postgres(own.url, { max: 1, connection });
  const end = () => Promise.all([client.end(), own.end()]);
  return { own, spec, claimed, end, ...settling(drizzle(client), spec) };
}

test.each([
  ["the table is away", "alter table pgqueue_tasks rename to away", "alter table away rename to pgqueue_tasks"],
  [
    "the right is taken",
    "revoke update on pgqueue_tasks from mere_worker",
    "grant update on pgqueue_tasks to mere_worker",
  ],
])("an outcome that is not written while %s is written as it is afterwards", async (_, breaks, mends) => {
  const { own, claimed, settler, settle, events, end } = await apart(5, { role: "mere_worker" }, async (client) => {
    await client.unsafe(`
      do $$ begin create role mere_worker; exception when duplicate_object then null; end $$;
      grant all on pgqueue_tasks, pgqueue_queues to mere_worker`);
  });
  await own.client.unsafe(breaks);
  for (const task of claimed) settle(task, done("paid"));
  await until(() => events.filter(({ type }) => type === "error").length >= 3);
  await own.client.unsafe(mends);
  await settler.idle();
  expect(events.filter(({ type }) => type === "settled")).toHaveLength(5);
  for (const { id } of claimed) {
    expect(await rowOf(own.db, id)).toMatchObject({ status: "completed", output: "paid", errors: null });
  }
  await end();
});

test("a batch that takes too long is written in parts", async () => {
  const { own, claimed, settler, settle, types, end } = await apart(60, { statement_timeout: 100 });
  await own.client.unsafe(`
    create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.005); return new; end $$;
    create trigger be_slow before update on pgqueue_tasks for each row execute function be_slow()`);
  for (const task of claimed) settle(task);
  await settler.idle();
  expect(types().filter((type) => type !== "error")).toEqual(Array(60).fill("settled"));
  await end();
});

test("one whose row is locked for too long each time does not keep the others", async () => {
  const { own, claimed, settle, events, closed, end } = await apart(30, {});
  await own.client.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin
      if new.id = ${claimed[7]!.id} then raise lock_not_available; end if;
      return new;
    end $$;
    create trigger refuse before update on pgqueue_tasks for each row execute function refuse();`);
  for (const task of claimed) settle(task);
  await until(() => events.filter(({ type }) => type === "settled").length === 29, 15_000);
  closed.abort();
  await end();
});

test("one that is never answered does not keep the others", async () => {
  const spec = job();
  const [silent, ...others] = await claimNew(database.db, spec, 10);
  let statements = 0;
  const finalize: typeof pgqueue.finalize = (...args) =>
    statements++ === 0 ? (new Promise(() => {}) as never) : pgqueue.finalize(...args);
  const { settle, events } = settling(database.db, spec, { ...pgqueue, finalize });
  settle(silent!);
  await until(() => statements === 1);
  for (const task of others) settle(task);
  await until(() => events.filter(({ type }) => type === "settled").length === 9, 5_000);
});

test("no more is claimed while outcomes that are not written are large, though few", async () => {
  const { db, statements } = recorded(database);
  const spec = job();
  const claimed = await claimNew(database.db, spec, 18);
  const { settler, settle } = settling(db, spec);
  for (const task of claimed.slice(0, 15)) settle(task, done("x".repeat(1_000_000)));
  let isBelow = false;
  await settler.belowLimit();
  for (const task of claimed.slice(15)) settle(task, done("x".repeat(1_000_000)));
  const below = settler.belowLimit().then(() => {
    isBelow = true;
  });
  await rest(0);
  expect(isBelow).toBe(false);
  await below;
  await settler.idle();
  expect(statements.length).toBeGreaterThan(3);
});

describe("over a network", () => {
  const link = async () => {
    const proxy = await PostgresProxy.create(inject("postgresUrl"));
    const client = postgres(proxy.url(database.name), {
      max: 1,
      fetch_types: false,
      onnotice: () => {},
      backoff: () => 0.02,
    });
    await client`select 1`;
    return { proxy, db: drizzle(client), end: () => Promise.all([client.end({ timeout: 0 }), proxy.close()]) };
  };

  test("that is cut after the outcome was committed: unknown, never lost", async () => {
    const spec = job();
    const claimed = await claimNew(database.db, spec, 5);
    const { proxy, db, end } = await link();
    const { settler, settle, types } = settling(db, spec);
    proxy.dropReplies((reply) => reply.includes("UPDATE 5\0"), { times: 1 });
    for (const task of claimed) settle(task);
    await settler.idle();
    expect(types()).toEqual(["error", ...Array(5).fill("unknown")]);
    expect(new Set(await Promise.all(claimed.map(statusOf)))).toEqual(new Set(["completed"]));
    await end();
  });

  test("that is cut before: written when it is back", async () => {
    const spec = job();
    const claimed = await claimNew(database.db, spec, 5);
    const { proxy, db, end } = await link();
    const { settler, settle, types } = settling(db, spec);
    proxy.cut();
    for (const task of claimed) settle(task);
    await settler.idle();
    expect(types().filter((type) => type !== "error")).toEqual(Array(5).fill("settled"));
    await end();
  });

  test("that is away for a while, within the lease: written when it is back", async () => {
    const spec = job();
    const claimed = await claimNew(database.db, spec, 5);
    const { proxy, db, end } = await link();
    const { settler, settle, types } = settling(db, spec);
    proxy.dropReplies(() => true);
    for (const task of claimed) settle(task);
    setTimeout(() => proxy.pass(), 400);
    await settler.idle();
    expect(types().filter((type) => type !== "error")).toHaveLength(5);
    expect(types()).not.toContain("lost");
    expect(new Set(await Promise.all(claimed.map(statusOf)))).toEqual(new Set(["completed"]));
    await end();
  });

  test("that stays away: given up when the lease is over", async () => {
    const spec = job();
    const claimed = await claimNew(database.db, spec, 2);
    const { proxy, db, end } = await link();
    const { settler, settle, types } = settling(db, spec);
    await proxy.close();
    for (const task of claimed) settle(task, done(), 300);
    await settler.idle();
    expect(types().filter((type) => type !== "error")).toHaveLength(2);
    expect(types()).not.toContain("settled");
    await end();
  });
});
