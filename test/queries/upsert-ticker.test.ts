import { sql } from "drizzle-orm";
import { integer } from "drizzle-orm/pg-core";
import * as v from "valibot";
import { afterAll, expect, test } from "vitest";
import { ConflictError, createPgqueue, defineTicker, OptionsError, pgqueueTables } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimOne, idsOf, job, pgqueue, rowOf, ticker } from "./jobs.ts";
import { recorded } from "./recorder.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db } = database;
afterAll(database.end);
const { upsertTicker } = pgqueue;

test("creates the ticker's row, due at once", async () => {
  const spec = ticker({ key: "it's", initialPayload: { cursor: "$1" } });
  const { id, ...answer } = await upsertTicker(db, spec);
  expect(answer).toEqual({ status: "pending", deduplicated: false });
  expect(await rowOf(db, id)).toMatchObject({
    kind: "ticker",
    queue: spec.queue,
    key: "it's",
    hash: null,
    payload: { cursor: "$1" },
    attempt: 0,
  });
  expect((await claimOne(db, spec)).key).toBe("it's");
});

test("keeps a root null as JSON", async () => {
  const spec = ticker({ initialPayload: null });
  await upsertTicker(db, spec);
  expect((await claimOne(db, spec)).payload).toBeNull();
});

test("leaves an existing row as it is, whatever its status", async () => {
  const spec = ticker();
  const { id } = await upsertTicker(db, spec);
  await pgqueue.finalize(db, spec, {
    task: await claimOne(db, spec),
    result: { type: "done" },
    payload: { cursor: 7 },
  });
  for (const status of ["pending", "completed", "failed", "disabled"] as const) {
    await database.client`update pgqueue_tasks set status = ${status} where id = ${id}`;
    const before = await rowOf(db, id);
    const changed = ticker({ queue: spec.queue, initialPayload: { cursor: 99 }, every: "1s" });
    expect(await upsertTicker(db, changed)).toEqual({ id, status, deduplicated: true });
    expect(await rowOf(db, id)).toEqual(before);
  }
});

test("burns no id where the row exists", async () => {
  const spec = ticker();
  const { id } = await upsertTicker(db, spec);
  for (let i = 0; i < 10; i++) await upsertTicker(db, spec);
  expect((await upsertTicker(db, ticker())).id).toBe(id + 1);
});

test("of many at once makes one row", async () => {
  for (let round = 0; round < 10; round++) {
    const spec = ticker();
    const answers = await Promise.all(Array.from({ length: 8 }, () => upsertTicker(db, spec)));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    expect(await idsOf(db, spec)).toHaveLength(1);
  }
});

test("two keys of one queue, and one key of two queues, are tickers of their own", async () => {
  const spec = ticker();
  const others = [ticker({ queue: spec.queue, key: "other" }), ticker()];
  const ids = [];
  for (const one of [spec, ...others]) ids.push((await upsertTicker(db, one)).id);
  expect(new Set(ids).size).toBe(3);
});

test("does not wait for an open transaction that has touched the row", async () => {
  const spec = ticker();
  const { id } = await upsertTicker(db, spec);
  const task = await claimOne(db, spec);
  const { tx, commit } = await begin(db);
  await pgqueue.finalizeOrThrow(tx, spec, { task, result: { type: "done" } });
  expect(await upsertTicker(db, spec)).toEqual({ id, status: "running", deduplicated: true });
  await commit();
});

test("in a transaction is as atomic as that", async () => {
  const spec = ticker();
  const { tx, rollback } = await begin(db);
  await upsertTicker(tx, spec);
  await rollback();
  expect(await idsOf(db, spec)).toEqual([]);
});

test("stores the spec's own columns, by default those of Drizzle's $default", async () => {
  const other = await createDatabase({ migrated: true });
  await other.client`alter table pgqueue_tasks add column tenant int not null, add column shard int`;
  const { tasks, queues } = pgqueueTables({
    columns: { tenant: integer("tenant").notNull(), shard: integer("shard").$defaultFn(() => 5) },
  });
  const own = createPgqueue({ tasks, queues });
  const spec = defineTicker({
    queue: "sync",
    key: "main",
    every: "1m",
    payload: v.null(),
    initialPayload: null,
    columns: { tenant: 3 },
  });
  await own.upsertTicker(other.db, spec);
  const [task] = await own.claim(other.db, spec, { limit: 1 });
  expect(task?.columns).toEqual({ tenant: 3, shard: 5 });
  const wrong = { ...spec, columns: { tenant: 1, nope: 1 } };
  await expect(own.upsertTicker(other.db, wrong)).rejects.toMatchObject({
    field: `upsertTicker("${spec.queue}").columns.nope`,
  });
  await other.end();
});

test("refuses a job's spec before any SQL", async () => {
  const { db, statements } = recorded(database);
  await expect(upsertTicker(db, job() as never)).rejects.toThrow(OptionsError);
  expect(statements).toEqual([]);
});

test("a row behind row-level security is a ConflictError, after a bounded number of tries", async () => {
  const other = await createDatabase({ migrated: true });
  const role = `tenant_${other.name}`;
  await other.client.unsafe(`
    create role ${role}; grant all on pgqueue_tasks to ${role};
    alter table pgqueue_tasks add column tenant text default current_setting('app.tenant', true);
    alter table pgqueue_tasks enable row level security;
    create policy own on pgqueue_tasks to ${role} using (tenant = current_setting('app.tenant'))`);
  const spec = ticker({ queue: "theirs" });
  await upsertTicker(other.db, spec);
  const { tx, rollback } = await begin(other.db);
  await tx.execute(sql.raw(`set local role ${role}; set local app.tenant = 'other'`));
  await expect(upsertTicker(tx, spec)).rejects.toThrow(ConflictError);
  await rollback();
  await other.client.unsafe(`drop owned by ${role}; drop role ${role}`);
  await other.end();
});
