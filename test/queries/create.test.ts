import { readdirSync, readFileSync } from "node:fs";
import { eq, getTableColumns } from "drizzle-orm";
import { integer, pgTable, text, withReplicas } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, describe, expect, test } from "vitest";
import { createPgqueue, OptionsError, pgqueueTables } from "../../src/index.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { job, queues, tasks } from "./jobs.ts";
import { liveThrough } from "./live-through.ts";
import { listening, recorded } from "./recorder.ts";

const databases: TestDatabase[] = [];
const open = async (ddl: string) => {
  const database = await createDatabase({ migrated: true });
  databases.push(database);
  await database.client.unsafe(ddl);
  return database;
};
afterAll(() => Promise.all(databases.map((database) => database.end())));

const move = "create schema app; alter table pgqueue_tasks set schema app; alter table pgqueue_queues set schema app;";

describe("every statement runs", () => {
  test.each(["text default 'x'", "integer default 7", "jsonb default '{}'"])(
    "whatever the user's own columns are called, with columns of %s",
    async (type) => {
      const source = readdirSync(new URL("../../src/queries/", import.meta.url))
        .map((file) => readFileSync(new URL(`../../src/queries/${file}`, import.meta.url), "utf8"))
        .join();
      // Every word in lower case that our statements might use as a name, but those of pgqueue's own columns.
      const own = Object.values(getTableColumns(tasks)).map(({ name }) => name);
      const words = [...new Set(source.match(/\b[a-z][a-z_]*\b/g))].filter((word) => !own.includes(word));
      expect(words).toEqual(
        expect.arrayContaining(["level", "levels", "doc", "docs", "item", "held", "due", "holder"]),
      );
      const database = await open(
        `alter table pgqueue_tasks ${words.map((word) => `add column "${word}" ${type}`).join(", ")}`,
      );
      await liveThrough(createPgqueue({ tasks, queues }), database.db);
    },
  );

  test("on the default tables, by the time of the statement alone", async () => {
    const { db, statements } = recorded(await open(""));
    await liveThrough(createPgqueue({ tasks, queues }), db);
    expect(statements.length).toBeGreaterThan(30);
    for (const text of statements) expect(text).not.toMatch(/\bnow\(\)|clock_timestamp|current_timestamp|localtime/i);
  });

  test("with another prefix", async () => {
    const { db } = await open(
      "alter table pgqueue_tasks rename to jobs_tasks; alter table pgqueue_queues rename to jobs_queues",
    );
    await liveThrough(createPgqueue(pgqueueTables({ prefix: "jobs_" })), db);
  });

  test("in a schema of the user's, which is not in the search path", async () => {
    const { pgSchema } = await import("drizzle-orm/pg-core");
    const { db } = await open(move);
    await liveThrough(createPgqueue(pgqueueTables({ schema: pgSchema("app") })), db);
  });

  test("on tables made for Citus, with no volatile function in an update", async () => {
    const database = await open(
      "alter table pgqueue_tasks drop constraint pgqueue_tasks_pkey, add primary key (id, queue)",
    );
    const { db, statements } = recorded(database);
    await liveThrough(createPgqueue(pgqueueTables({ distributed: true })), db);
    const updates = statements.filter((text) => /\bupdate "/.test(text));
    expect(updates.length).toBeGreaterThan(10);
    for (const text of updates) expect(text).not.toMatch(/pg_notify|random|clock_timestamp/);
  });

  test("with notifications off", async () => {
    const { db } = await open("");
    await liveThrough(createPgqueue({ tasks, queues, notify: false }), db);
  });

  test("where Drizzle's casing renames the user's own columns", async () => {
    const { client } = await open("alter table pgqueue_tasks add column tenant_id int, add column seen_at timestamptz");
    const { timestamp } = await import("drizzle-orm/pg-core");
    const tables = pgqueueTables({ columns: { tenantId: integer(), seenAt: timestamp({ withTimezone: true }) } });
    const own = createPgqueue(tables);
    const db = drizzle(client, { casing: "snake_case" });
    await liveThrough(own as never, db);
    const spec = job();
    const seenAt = new Date("2026-01-02T03:04:05.678Z");
    await own.enqueue(db, spec, 1, { columns: { tenantId: 1, seenAt } });
    await own.enqueueMany(db, spec, [{ payload: 2, columns: { tenantId: 2, seenAt } }]);
    const claimed = await own.claim(db, spec, { limit: 2, where: eq(tables.tasks.tenantId, 2) });
    expect(claimed).toMatchObject([{ payload: 2, columns: { tenantId: 2, seenAt } }]);
    expect(await own.listTasks(db, { queue: spec, where: eq(tables.tasks.tenantId, 1) })).toHaveLength(1);
  });

  test("where Drizzle's casing renames them, and a task sets only one", async () => {
    const { client } = await open("alter table pgqueue_tasks add column tenant_id text, add column region_id text");
    const tables = pgqueueTables({ columns: { tenantId: text(), regionId: text() } });
    const own = createPgqueue(tables);
    const db = drizzle(client, { casing: "snake_case" });
    await own.enqueue(db, job(), 1, { columns: { tenantId: "a" } });
    await own.enqueue(db, job(), 1, { columns: { regionId: "eu" } });
    const rows = await db.select().from(tables.tasks).orderBy(tables.tasks.id);
    expect(rows.map(({ tenantId, regionId }) => [tenantId, regionId])).toEqual([
      ["a", null],
      [null, "eu"],
    ]);
  });

  test("on the primary of a database with replicas", async () => {
    const database = await open("");
    const readOnly = postgres(database.url, { max: 1, connection: { default_transaction_read_only: true } });
    const replica = drizzle(readOnly);
    const statements: string[] = [];
    const spy = drizzle(readOnly, { logger: { logQuery: (query) => statements.push(query) } });
    await expect(createPgqueue({ tasks, queues }).claim(replica, job(), { limit: 1 })).rejects.toMatchObject({
      name: "AccessError",
      cause: { cause: { code: "25006" } },
    });
    await liveThrough(createPgqueue({ tasks, queues }), withReplicas(database.db, [spy]) as never);
    expect(statements).toEqual([]);
    await readOnly.end();
  });
});

test("the functions can be taken apart", async () => {
  const { db } = await open("");
  const { enqueue, claim } = createPgqueue({ tasks, queues });
  const spec = job();
  await enqueue(db, spec, 1);
  expect(await claim(db, spec, { limit: 1 })).toHaveLength(1);
});

test("equal notifications of one transaction come once, for each queue", async () => {
  const database = await open("");
  const pgqueue = createPgqueue({ tasks, queues });
  const notified = await listening(database);
  const [one, two] = [job({ queue: "one" }), job({ queue: "two" })];
  await database.db.transaction(async (tx) => {
    for (let i = 0; i < 3; i++) await pgqueue.enqueue(tx, one, i);
    await pgqueue.enqueueMany(tx, one, [{ payload: 1 }, { payload: 2 }]);
    await pgqueue.enqueue(tx, two, 1);
  });
  expect(await notified.all()).toEqual(["one", "two"]);
  await notified.unlisten();
});

test.each<[options: object, field: string]>([
  [{ tasks: pgTable("t", { id: integer() }), queues }, "createPgqueue.tasks"],
  [{ tasks: queues, queues }, "createPgqueue.tasks"],
  [{ tasks, queues: pgTable("q", { name: text() }) }, "createPgqueue.queues"],
  [{ tasks: undefined, queues }, "createPgqueue.tasks"],
  [{ tasks, queues: {} }, "createPgqueue.queues"],
  [{ tasks, queues: pgqueueTables({ prefix: "other_" }).queues }, "createPgqueue.queues"],
])("tables that are none of pgqueueTables are refused: %#", (options, field) => {
  expect(() => createPgqueue(options as never)).toThrow(expect.objectContaining({ constructor: OptionsError, field }));
});
