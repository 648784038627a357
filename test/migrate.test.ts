import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import * as v from "valibot";
import { afterEach, expect, test } from "vitest";
import { ConflictError, createPgqueue, defineJob, migrate, OptionsError, pgqueueTables } from "../src/index.ts";
import { createDatabase, type TestDatabase } from "./postgres/database.ts";

const databases: TestDatabase[] = [];
const open = async (options?: Parameters<typeof createDatabase>[0]) => {
  const database = await createDatabase(options);
  databases.push(database);
  return database;
};
afterEach(async () => {
  await Promise.all(databases.splice(0).map((database) => database.end()));
});

const relations = async ({ client }: TestDatabase) => {
  const rows = await client`select relname from pg_class where relnamespace = 'public'::regnamespace order by 1`;
  return rows.map(({ relname }) => relname as string);
};
const journal = ({ client }: TestDatabase) => client`select name, applied_at from pgqueue_migrations order by name`;

test("makes tables that every statement can use, and a journal of its own", async () => {
  const database = await open();
  expect(await migrate(database.db)).toBeUndefined();
  const names = await relations(database);
  expect(names).toEqual(expect.arrayContaining(["pgqueue_tasks", "pgqueue_queues", "pgqueue_migrations"]));
  expect(names.filter((name) => !name.startsWith("pgqueue_"))).toEqual([]);
  expect((await journal(database)).map(({ name }) => name)).toEqual(["0000_init"]);
  const pgqueue = createPgqueue(pgqueueTables());
  const spec = defineJob({ queue: "q", payload: v.null() });
  await pgqueue.enqueue(database.db, spec, null);
  expect(await pgqueue.claim(database.db, spec, { limit: 1 })).toHaveLength(1);
});

test("again changes nothing, and keeps what is stored", async () => {
  const database = await open({ migrated: true });
  await database.client`insert into pgqueue_tasks (queue, payload) values ('q', '1')`;
  const before = [await relations(database), await journal(database)];
  for (let i = 0; i < 3; i++) await migrate(database.db);
  expect([await relations(database), await journal(database)]).toEqual(before);
  expect(await database.client`select from pgqueue_tasks`).toHaveLength(1);
});

test.each(["read committed", "repeatable read", "serializable"] as const)(
  "of ten processes at once on an empty database makes it once, where the default is %s",
  async (isolation) => {
    const database = await open();
    const clients = Array.from({ length: 10 }, () =>
      postgres(database.url, { max: 1, onnotice: () => {}, connection: { default_transaction_isolation: isolation } }),
    );
    await Promise.all(clients.map((client) => client`select 1`));
    const runs = await Promise.allSettled(clients.map((client) => migrate(drizzle(client))));
    await Promise.all(clients.map((client) => client.end()));
    expect(runs).toEqual(clients.map(() => ({ status: "fulfilled", value: undefined })));
    expect((await journal(database)).map(({ name }) => name)).toEqual(["0000_init"]);
  },
);

test("applies all or nothing", async () => {
  const database = await open();
  // The last of the statements fails: its index is there already, under another table.
  await database.client.unsafe(`create table other (id int); create index pgqueue_tasks_finished on other (id)`);
  await expect(migrate(database.db)).rejects.toThrow();
  expect(await relations(database)).toEqual(["other", "pgqueue_tasks_finished"]);
});

test("in a transaction of the caller's is as atomic as that", async () => {
  const database = await open();
  await database.db
    .transaction(async (tx) => {
      await migrate(tx);
      throw new Error("undo");
    })
    .catch(() => {});
  expect(await relations(database)).toEqual([]);
});

test("where drizzle-kit made the tables it says so, and changes nothing", async () => {
  const database = await open();
  const { generateDrizzleJson, generateMigration } = await import("drizzle-kit/api");
  const statements = await generateMigration(
    generateDrizzleJson({}),
    generateDrizzleJson(pgqueueTables() as unknown as Record<string, unknown>),
  );
  for (const statement of statements) await database.db.execute(sql.raw(statement));
  const before = await relations(database);
  const refused = migrate(database.db);
  await expect(refused).rejects.toThrow(ConflictError);
  await expect(refused).rejects.toThrow(/your own migrations make them, so leave migrate\(\) out/);
  expect(await relations(database)).toEqual(before);
});

test("makes the very tables that drizzle-kit would", async () => {
  const [ours, theirs] = [await open({ migrated: true }), await open()];
  const { generateDrizzleJson, generateMigration } = await import("drizzle-kit/api");
  const statements = await generateMigration(
    generateDrizzleJson({}),
    generateDrizzleJson(pgqueueTables() as unknown as Record<string, unknown>),
  );
  for (const statement of statements) await theirs.db.execute(sql.raw(statement));
  const shape = async ({ client }: TestDatabase) => [
    await client`
      select table_name, column_name, data_type, is_nullable, column_default, is_identity
      from information_schema.columns where table_name in ('pgqueue_tasks', 'pgqueue_queues') order by 1, 2`,
    await client`select indexdef from pg_indexes where tablename in ('pgqueue_tasks', 'pgqueue_queues') order by 1`,
    await client`
      select conname, pg_get_constraintdef(oid) as def from pg_constraint
      where conrelid in ('pgqueue_tasks'::regclass, 'pgqueue_queues'::regclass) order by 1`,
  ];
  expect(await shape(ours)).toEqual(await shape(theirs));
});

test("asks for no right to create anything where all is there", async () => {
  const database = await open({ migrated: true });
  const role = `app_${database.name}`;
  await database.client.unsafe(`
    create role ${role}; revoke all on schema public from public; grant usage on schema public to ${role};
    grant select on pgqueue_migrations to ${role}`);
  await database.db.transaction(async (tx) => {
    await tx.execute(sql.raw(`set local role ${role}`));
    await migrate(tx);
  });
  await database.client.unsafe(`drop owned by ${role}; drop role ${role}`);
});

test("of what is no database is refused", async () => {
  await expect(migrate({} as never)).rejects.toThrow(OptionsError);
  await expect(migrate(undefined as never)).rejects.toMatchObject({ field: "migrate.db" });
});
