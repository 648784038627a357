import { sql } from "drizzle-orm";
import { integer, pgSchema, pgTable } from "drizzle-orm/pg-core";
import { afterAll, describe, expect, test } from "vitest";
import { type Claimed, createPgqueue, done, newClaimToken, pgqueueTables, SchemaError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, job, pgqueue, tasks, ticker } from "./jobs.ts";
import { sqlState } from "./transactions.ts";

const empty = await createDatabase();
const migrated = await createDatabase({ migrated: true });
afterAll(async () => {
  await empty.end();
  await migrated.end();
});

const spec = job();
const claimed = {
  id: 1,
  queue: spec.queue,
  token: newClaimToken(),
  claims: 1,
  attempt: 1,
  maxRetries: null,
} as Claimed;
type Run = (db: typeof empty.db) => PromiseLike<unknown>;
const statements: Record<string, Run> = {
  enqueue: (db) => pgqueue.enqueue(db, spec, 1),
  "enqueue with a hash": (db) => pgqueue.enqueue(db, spec, 1, { hash: "h" }),
  enqueueMany: (db) => pgqueue.enqueueMany(db, spec, [{ payload: 1 }]),
  upsertTicker: (db) => pgqueue.upsertTicker(db, ticker()),
  claim: (db) => pgqueue.claim(db, spec, { limit: 1 }),
  finalize: (db) => pgqueue.finalize(db, spec, { task: claimed, result: done() }),
  finalizeOrThrow: (db) => pgqueue.finalizeOrThrow(db, spec, { task: claimed, result: done() }),
  release: (db) => pgqueue.release(db, spec, claimed),
  releaseClaim: (db) => pgqueue.releaseClaim(db, spec, claimed.token),
  extendLease: (db) => pgqueue.extendLease(db, spec, claimed),
  markStarted: (db) => pgqueue.markStarted(db, spec, claimed),
  heldBy: (db) => pgqueue.heldBy(db, spec, [claimed]),
  reap: (db) => pgqueue.reap(db, spec),
  enable: (db) => pgqueue.enable(db, 1),
  disable: (db) => pgqueue.disable(db, 1),
  requeue: (db) => pgqueue.requeue(db, 1),
  replacePayload: (db) => pgqueue.replacePayload(db, spec, 1, 1),
  purge: (db) => pgqueue.purge(db, { queue: spec, status: "failed", olderThan: 0, limit: 1 }),
  stats: (db) => pgqueue.stats(db),
  getTask: (db) => pgqueue.getTask(db, 1),
  listTasks: (db) => pgqueue.listTasks(db),
};

describe("a missing table", () => {
  test.each(Object.entries(statements))("is named by %s, with what to do", async (_, run) => {
    const failed = run(empty.db);
    await expect(failed).rejects.toThrow(SchemaError);
    await expect(failed).rejects.toMatchObject({
      code: "PGQUEUE_SCHEMA",
      missing: expect.stringMatching(/^pgqueue_(tasks|queues)$/),
      message: expect.stringMatching(/table "pgqueue_\w+" does not exist.*drizzle-kit generate.*migrate\(db\)/s),
      cause: { cause: { code: "42P01" } },
    });
  });

  test("is named where it is the one of queues", async () => {
    for (const statement of ["pauseQueue", "resumeQueue"] as const) {
      await expect(pgqueue[statement](empty.db, "q")).rejects.toMatchObject({ missing: "pgqueue_queues" });
    }
    const half = await createDatabase({ migrated: true });
    await half.client`drop table pgqueue_queues`;
    await expect(pgqueue.claim(half.db, spec, { limit: 1 })).rejects.toMatchObject({ missing: "pgqueue_queues" });
    await expect(pgqueue.stats(half.db)).rejects.toMatchObject({ missing: "pgqueue_queues" });
    await half.end();
  });

  test("is named with a prefix and in a schema of the user's", async () => {
    const prefixed = createPgqueue(pgqueueTables({ prefix: "app_" }));
    await expect(prefixed.getTask(empty.db, 1)).rejects.toMatchObject({ missing: "app_tasks" });
    const schema = createPgqueue(pgqueueTables({ schema: pgSchema("app") }));
    const failed = schema.enqueue(empty.db, spec, 1);
    await expect(failed).rejects.toMatchObject({ name: "SchemaError", missing: "pgqueue_tasks" });
  });

  test("is the same error through then, catch and finally of a builder", async () => {
    const failed = pgqueue.claim(empty.db, spec, { limit: 1 });
    expect(
      await failed.then(
        () => "",
        (error) => error,
      ),
    ).toBeInstanceOf(SchemaError);
    expect(await failed.catch((error) => error)).toBeInstanceOf(SchemaError);
  });
});

describe("a missing column", () => {
  test.each([
    ["claims", "claim"],
    ["started_at", "markStarted"],
    ["hash_held", "enqueue with a hash"],
    ["payload", "enqueue"],
    ["created_at", "enqueueMany"],
    ["key", "upsertTicker"],
    ["output", "finalize"],
    ["errors", "reap"],
    ["errors", "getTask"],
    ["finished_at", "enable"],
    ["finished_at", "purge"],
  ])("%s is named by %s, with what to do", async (column, statement) => {
    const old = await createDatabase({ migrated: true });
    await old.client`alter table pgqueue_tasks drop column ${old.client(column)} cascade`;
    const failed = statements[statement]!(old.db);
    await expect(failed).rejects.toThrow(SchemaError);
    await expect(failed).rejects.toMatchObject({
      missing: expect.stringMatching(new RegExp(`\\b${column}$`)),
      message: expect.stringMatching(/older version.*drizzle-kit generate.*migrate\(db\)/s),
    });
    await old.end();
  });

  test("of the user's own is named too", async () => {
    const tables = pgqueueTables({ columns: { tenant: integer("tenant") } });
    const own = createPgqueue(tables);
    await expect(own.claim(migrated.db, spec, { limit: 1 })).rejects.toMatchObject({
      missing: "tenant",
      message: expect.stringMatching(/one of your own.*drizzle-kit generate(?!.*migrate)/s),
    });
    await expect(own.enqueue(migrated.db, spec, 1, { columns: { tenant: 1 } })).rejects.toMatchObject({
      missing: "tenant",
    });
  });
});

describe("errors about anything else come through untouched", () => {
  const { db, client } = migrated;

  test.each([
    ["a missing table", sql`exists (select from orders)`, "42P01"],
    ["a missing table whose name starts like ours", sql`exists (select from pgqueue_tasks_archive)`, "42P01"],
    ["a missing table in a schema", sql`exists (select from other.pgqueue_tasks)`, "3F000", "42P01"],
    ["a table that is not in the query", sql`pgqueue_queues.queue = 'x'`, "42P01"],
    ["a missing column", sql`colour = 'red'`, "42703"],
    ["a syntax error", sql`and and`, "42601"],
    ["a wrong type", sql`${tasks.payload} + 1 = 2`, "42883"],
    ["a division by zero", sql`1 / (${tasks.id} - ${tasks.id}) = 1`, "22012"],
  ])("%s in a condition", async (_, where, ...codes) => {
    await pgqueue.enqueue(db, spec, 1);
    for (const run of [pgqueue.claim(db, spec, { limit: 1, where }), pgqueue.listTasks(db, { where })]) {
      const error = await run.then(
        () => undefined,
        (thrown) => thrown,
      );
      expect(error).not.toBeInstanceOf(SchemaError);
      expect(error.constructor.name).toBe("DrizzleQueryError");
      expect(codes).toContain(error.cause.code);
    }
  });

  test("a missing column of a table of the user's that has the name of one of ours", async () => {
    await client`create table orders (id int)`;
    for (const where of [
      sql`exists (select from orders where orders.status = 'paid')`,
      sql`exists (select from orders o where o.queue = 'x')`,
    ]) {
      const error = await pgqueue.claim(db, spec, { limit: 1, where }).catch((thrown) => thrown);
      expect(error).not.toBeInstanceOf(SchemaError);
      expect(error.cause.code).toBe("42703");
    }
    await client`drop table orders`;
  });

  test("the user's own statements in the same transaction", async () => {
    const orders = pgTable("no_orders", { id: integer("id") });
    await expect(
      db.transaction(async (tx) => {
        await pgqueue.enqueue(tx, spec, 1);
        await tx.select().from(orders);
      }),
    ).rejects.not.toBeInstanceOf(SchemaError);
  });

  test("a trigger of the user's", async () => {
    const other = await createDatabase({ migrated: true });
    await other.client.unsafe(`
      create function audit() returns trigger language plpgsql as $$ begin insert into audit_log values (1); end $$;
      create trigger audit before insert on pgqueue_tasks for each row execute function audit()`);
    const failed = pgqueue.enqueue(other.db, spec, 1);
    await expect(failed).rejects.not.toBeInstanceOf(SchemaError);
    expect(await sqlState(pgqueue.enqueueMany(other.db, spec, [{ payload: 1 }]))).toBe("42P01");
    await other.end();
  });

  test("a lost permission", async () => {
    const other = await createDatabase({ migrated: true });
    const role = `reader_${other.name}`;
    await other.client.unsafe(`create role ${role}`);
    const code = await sqlState(
      other.db.transaction(async (tx) => {
        await tx.execute(sql.raw(`set local role ${role}`));
        await pgqueue.getTask(tx, 1);
      }),
    );
    expect(code).toBe("42501");
    await other.client.unsafe(`drop role ${role}`);
    await other.end();
  });
});

test("a role with no rights but on rows runs every statement, and none of them makes or alters anything", async () => {
  const database = await createDatabase({ migrated: true });
  const role = `app_${database.name}`;
  await database.client.unsafe(`
    create role ${role} login password 'secret';
    revoke all on schema public from public; grant usage on schema public to ${role};
    grant select, insert, update, delete on pgqueue_tasks, pgqueue_queues to ${role}`);
  const objects = () => database.client`select oid::int, relname, relnatts, xmin::text from pg_class order by oid`;
  const before = await objects();
  const url = new URL(database.url);
  url.username = role;
  url.password = "secret";
  const { default: postgres } = await import("postgres");
  const { drizzle } = await import("drizzle-orm/postgres-js");
  const client = postgres(url.href, { max: 2 });
  const db = drizzle(client);
  expect(await sqlState(db.execute(sql`create table nope (id int)`))).toBe("42501");

  for (const [name, run] of Object.entries(statements)) {
    if (name !== "finalizeOrThrow") await run(db);
  }
  for (const statement of ["pauseQueue", "resumeQueue"] as const) await pgqueue[statement](db, spec);
  const tasks = await claimNew(db, spec, 3);
  await pgqueue.finalizeOrThrow(db, spec, { task: tasks[0]!, result: done() });
  await pgqueue.finalize(db, spec, { task: tasks[1]!, result: done() });
  await pgqueue.release(db, spec, tasks[2]!);

  const tables = (rows: Awaited<ReturnType<typeof objects>>) =>
    rows.map(({ oid, relname, relnatts }) => [oid, relname, relnatts]);
  expect(tables(await objects())).toEqual(tables(before));
  await client.end();
  await database.client.unsafe(`drop owned by ${role}; drop role ${role}`);
  await database.end();
});
