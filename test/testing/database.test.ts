import { relations, sql } from "drizzle-orm";
import { integer, pgPolicy, pgRole, pgSchema, pgTable } from "drizzle-orm/pg-core";
import { describe, expect, test } from "vitest";
import { createWorker, OptionsError, pgqueueTables, SchemaError } from "../../src/index.ts";
import { createTestDatabase } from "../../src/testing/index.ts";
import { enqueue, mail, orders, pgqueue, schema, tasks } from "./shop.ts";

describe("createTestDatabase", () => {
  test("makes databases that know nothing of each other, one after another and at once", {
    timeout: 60_000,
  }, async () => {
    const [one, two] = await Promise.all([createTestDatabase({ schema }), createTestDatabase({ schema })]);
    await enqueue(one.db, mail, { to: "a" });
    await enqueue(one.db, mail, { to: "b" });
    expect(await one.db.$count(tasks)).toBe(2);
    expect(await two.db.$count(tasks)).toBe(0);
    await one.close();
    await two.close();
    const three = await createTestDatabase({ schema });
    expect(await three.db.$count(tasks)).toBe(0);
    expect(await enqueue(three.db, mail, { to: "a" })).toMatchObject({ id: 1 });
    expect(await three.db.query.orders.findMany()).toEqual([]);
    await three.close();
  });

  test("uses a closed one again, also after a worker was drained on it", async () => {
    // Whatever other tests left to be used again.
    const others = await Promise.all(Array.from({ length: 4 }, () => createTestDatabase({ schema })));
    const used = others[0]!;
    // PGlite numbers its types as it goes: nothing else of an instance is left once it was emptied.
    const nextOid = async ({ db }: typeof used) =>
      Number((await db.execute(sql`select oid from pg_class where relname = 'pgqueue_tasks'`)).rows[0]!.oid);
    const first = await nextOid(used);
    await createWorker({ db: used.db, pgqueue })
      .register(mail, () => {})
      .drain();
    await used.close();
    const next = await createTestDatabase({ schema });
    expect(await nextOid(next)).toBeGreaterThan(first);
    for (const { close } of [next, ...others.slice(1)]) await close();
  });

  test("hands on nothing of what was done to a database", { timeout: 60_000 }, async () => {
    const traces: [string, string][] = [
      ["create table stray (id int); insert into stray values (1)", "select 1 from pg_class where relname = 'stray'"],
      ["create schema jobs; create type jobs.mood as enum ('a')", "select 1 from pg_namespace where nspname = 'jobs'"],
      ["create role clerk; grant all on pgqueue_tasks to clerk", "select 1 from pg_roles where rolname = 'clerk'"],
      ["create function f() returns int language sql as 'select 1'", "select 1 from pg_proc where proname = 'f'"],
      ["set search_path to nowhere", "select 1 where current_setting('search_path') = 'nowhere'"],
      ["set session statement_timeout = 7", "select 1 where current_setting('statement_timeout') = '7ms'"],
      ["alter database postgres set work_mem = '5MB'", "select 1 from pg_db_role_setting"],
      ["create publication p", "select 1 from pg_publication"],
      ["listen pgqueue", "select 1 from pg_listening_channels()"],
      ["prepare p as select 1", "select 1 from pg_prepared_statements where name = 'p'"],
      ["create temp table t (id int)", "select 1 from pg_class where relname = 't'"],
      ["begin; create table open_one (id int)", "select 1 from pg_class where relname = 'open_one'"],
    ];
    for (const [trace, look] of traces) {
      const used = await createTestDatabase({ schema });
      await used.db.$client.exec(trace);
      await used.close();
      const next = await createTestDatabase({ schema });
      expect([trace, (await next.db.$client.query(look)).rows]).toEqual([trace, []]);
      expect(await next.db.$count(tasks)).toBe(0);
      await next.close();
    }
  });

  test("is not held up by a transaction that was left open", { timeout: 60_000 }, async () => {
    const used = await createTestDatabase({ schema });
    let end = () => {};
    const open = used.db.transaction(() => new Promise<void>((resolve) => (end = resolve)));
    open.catch(() => {});
    await used.close();
    const next = await createTestDatabase({ schema });
    expect(await next.db.$count(tasks)).toBe(0);
    end();
    await next.close();
  });

  test("keeps a closed database from whoever still has it, such as a worker that was not stopped", async () => {
    const used = await createTestDatabase({ schema });
    const events: unknown[] = [];
    const worker = createWorker({ db: used.db, pgqueue, onEvent: (event) => events.push(event) });
    await worker.register({ ...mail, pollInterval: 10 }, () => {}).start();
    await used.close();
    const next = await createTestDatabase({ schema });
    await expect(enqueue(used.db, mail, { to: "a" })).rejects.toMatchObject({
      cause: { message: "this test database was closed" },
    });
    const { id } = await enqueue(next.db, mail, { to: "a" });
    await expect.poll(() => events.length).toBeGreaterThan(0);
    expect(await pgqueue.getTask(next.db, id)).toMatchObject([{ status: "pending" }]);
    await worker.stop({ timeout: 0 });
    await next.close();
  });

  test("refuses the database inside a transaction of it, which would wait for itself", {
    timeout: 10_000,
  }, async () => {
    const { db, close } = await createTestDatabase({ schema });
    const refused = { cause: { code: "PGQUEUE_CONFLICT", message: expect.stringMatching(/use the transaction/) } };
    let later: Promise<unknown> | undefined;
    await db.transaction(async (tx) => {
      await enqueue(tx, mail, { to: "a" });
      await expect(enqueue(db, mail, { to: "b" })).rejects.toMatchObject(refused);
      await tx.transaction(async (inner) => {
        await expect(db.select().from(tasks)).rejects.toMatchObject(refused);
        await enqueue(inner, mail, { to: "c" });
      });
      await expect(db.transaction(async () => {})).rejects.toThrow(/use the transaction/);
      later = new Promise((resolve) => setTimeout(resolve, 50)).then(() => enqueue(db, mail, { to: "d" }));
    });
    await later;
    const two = await createTestDatabase({ schema });
    await db.transaction(async () => expect(await two.db.$count(tasks)).toBe(0));
    await two.close();
    expect((await db.select().from(tasks)).map(({ payload }) => payload)).toEqual([
      { to: "a" },
      { to: "c" },
      { to: "d" },
    ]);
    await close();
  });

  test("can be closed twice", async () => {
    const { close } = await createTestDatabase({ schema });
    await close();
    await close();
    const [one, two] = await Promise.all([createTestDatabase({ schema }), createTestDatabase({ schema })]);
    await enqueue(one.db, mail, { to: "a" });
    expect(await two.db.$count(tasks)).toBe(0);
    await one.close();
    await two.close();
  });

  const jobs = pgSchema("jobs");
  const inJobs = pgqueueTables({ schema: jobs });

  test("takes relations of Drizzle 0.45 in the schema, for db.query", async () => {
    const orderRelations = relations(orders, ({ many }) => ({ tasks: many(tasks) }));
    const taskRelations = relations(tasks, ({ one }) => ({
      order: one(orders, { fields: [tasks.priority], references: [orders.id] }),
    }));
    const { db, close } = await createTestDatabase({ schema: { ...schema, orderRelations, taskRelations } });
    await db.insert(orders).values({ id: 3, email: "ada@example.com" });
    await enqueue(db, mail, { to: "a" }, { priority: 3 });
    expect(await db.query.tasks.findMany({ with: { order: true } })).toMatchObject([{ order: { id: 3 } }]);
    await close();
  });

  test("answers the same however often, through changes of the tables and what is discarded", async () => {
    const { db, close } = await createTestDatabase({ schema });
    const look = async () => (await db.$client.query("select * from orders where email = $1", ["a"])).rows;
    await db.insert(orders).values({ email: "a" });
    for (let i = 0; i < 8; i++) expect(await look()).toEqual([{ id: 1, email: "a" }]);
    await db.execute(sql`alter table orders add column note text default 'n'`);
    for (let i = 0; i < 3; i++) expect(await look()).toEqual([{ id: 1, email: "a", note: "n" }]);
    await db.$client.exec("discard all");
    for (let i = 0; i < 3; i++) expect(await look()).toEqual([{ id: 1, email: "a", note: "n" }]);
    for (let i = 0; i < 3; i++) {
      await expect(db.insert(orders).values({ id: 1, email: "twice" })).rejects.toMatchObject({
        cause: { code: "23505" },
      });
    }
    const values = [null, true, 1.5, "it's", new Date(0), [1, 2], { a: 1 }];
    const types = "$1::text a, $2::bool b, $3::float8 c, $4::text d, $5::timestamptz e, $6::int[] f, $7::jsonb g";
    const answers: unknown[] = [];
    for (let i = 0; i < 4; i++) answers.push((await db.$client.query(`select ${types}`, values)).rows);
    expect(answers).toEqual(answers.map(() => answers[0]));
    await close();
  });

  test("takes tables in a schema that is exported", async () => {
    const { db, close } = await createTestDatabase({ schema: { jobs, ...inJobs } });
    expect(await db.$count(inJobs.tasks)).toBe(0);
    await close();
  });

  const clerk = pgRole("clerk").existing();
  const things = pgTable("things", { id: integer("id") }, () => [pgPolicy("all", { to: clerk, using: sql`true` })]);

  test("runs what has to be before the tables", async () => {
    const { db, close } = await createTestDatabase({
      schema: { things },
      before: "create role clerk; create extension if not exists plpgsql",
    });
    expect((await db.$client.query("select 1 from pg_policies where roles = '{clerk}'")).rows).toHaveLength(1);
    await close();
    await expect(createTestDatabase({ schema: { things } })).rejects.toThrow(SchemaError);
    await expect(createTestDatabase({ schema: { things } })).rejects.toThrow(
      /role "clerk" does not exist.*pgRole.*before/,
    );
  });

  test.each<[string, unknown, typeof Error | typeof OptionsError | typeof SchemaError, RegExp]>([
    ["no schema", undefined, OptionsError, /createTestDatabase\.schema: expected your schema module/],
    [
      "a schema without tables",
      { n: 1 },
      OptionsError,
      /createTestDatabase\.schema: expected a module that exports tables/,
    ],
    [
      "tables inside an object",
      { orders, pgqueue: { ...pgqueueTables() } },
      OptionsError,
      /schema\.pgqueue: expected each table exported by itself/,
    ],
    ["a pgSchema that is not exported", { ...inJobs }, SchemaError, /schema "jobs".*export the pgSchema itself/],
  ])("refuses %s", async (_, given, kind, message) => {
    const error = await createTestDatabase({ schema: given as {} }).catch((error) => error);
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toMatch(message);
    const { db, close } = await createTestDatabase({ schema: { things: pgTable("things", { id: integer("id") }) } });
    await db.execute(sql`select * from things`);
    await close();
  });
});
