import { sql } from "drizzle-orm";
import type { AwsDataApiPgDatabase } from "drizzle-orm/aws-data-api/pg";
import { drizzle as mysqlProxy } from "drizzle-orm/mysql-proxy";
import { drizzle as neonHttp } from "drizzle-orm/neon-http";
import { drizzle as neonServerless } from "drizzle-orm/neon-serverless";
import { drizzle as nodePostgres } from "drizzle-orm/node-postgres";
import { pgTable, text, withReplicas } from "drizzle-orm/pg-core";
import { drizzle as pgProxy } from "drizzle-orm/pg-proxy";
import { drizzle as pglite } from "drizzle-orm/pglite";
import { drizzle as postgresJs } from "drizzle-orm/postgres-js";
import { drizzle as sqliteProxy } from "drizzle-orm/sqlite-proxy";
import { drizzle as vercel } from "drizzle-orm/vercel-postgres";
import { type AnyDatabase, createWorker, type Db, migrate } from "pgqueue";
import { createTestDatabase, type TestDatabase } from "pgqueue/testing";
import type { Sql } from "postgres";
import { assertType, describe, expectTypeOf, test } from "vitest";
import { db, payload, plain, receipt } from "./shop.ts";

const things = pgTable("things", { id: text("id").primaryKey() });

describe("Db", () => {
  test("is a database of any Postgres driver", () => {
    assertType<Db>(postgresJs({ client: null as never }));
    assertType<Db>(nodePostgres({ client: null as never }));
    assertType<Db>(pglite());
    assertType<Db>(neonServerless({ client: null as never }));
    assertType<Db>(neonHttp({ client: null as never }));
    assertType<Db>(vercel({ client: null as never }));
    assertType<Db>(pgProxy(async () => ({ rows: [] })));
    assertType<Db>(null! as AwsDataApiPgDatabase);
  });

  test("is one with replicas, and its primary", () => {
    const replicated = withReplicas(db, [db]);
    assertType<Db>(replicated);
    assertType<Db>(replicated.$primary);
    createWorker({ db: replicated, pgqueue: plain });
  });

  test("is a transaction and a nested one", async () => {
    await db.transaction(async (tx) => {
      await plain.enqueue(tx, receipt, payload);
      await tx.transaction((nested) => plain.enqueue(nested, receipt, payload));
    });
    await nodePostgres({ client: null as never }).transaction(async (tx) => {
      await plain.claim(tx, receipt, { limit: 1 });
      await tx.transaction((nested) => plain.listTasks(nested).then(() => {}));
    });
    await pglite().transaction((tx) => tx.transaction((nested) => plain.enqueue(nested, receipt, payload)));
    await neonServerless({ client: null as never }).transaction((tx) => plain.enqueue(tx, receipt, payload));
    await vercel({ client: null as never }).transaction((tx) => plain.enqueue(tx, receipt, payload));
    await (null! as AwsDataApiPgDatabase).transaction((tx) => plain.enqueue(tx, receipt, payload));
  });

  test("is what a function over any Db holds", () => {
    const generic = (db: Db) => plain.enqueue(db, receipt, payload);
    expectTypeOf(generic).returns.resolves.toHaveProperty("deduplicated");
    const withTransaction = (db: Db) => db.transaction((tx: Db) => plain.enqueue(tx, receipt, payload));
    expectTypeOf(withTransaction).returns.resolves.toHaveProperty("deduplicated");
  });

  test("is no part of a database", () => {
    const cte = db.$with("cte").as(db.select({ one: sql<number>`1`.as("one") }).from(things));
    // @ts-expect-error it has neither $with nor execute
    assertType<Db>(db.with(cte));
    // @ts-expect-error the same, where it is asked for
    plain.enqueue(db.with(cte), receipt, payload);
    // @ts-expect-error a driver's own client
    assertType<Db>(null! as Sql);
    // @ts-expect-error a table
    assertType<Db>(things);
    // @ts-expect-error statements
    assertType<Db>(plain);
    // @ts-expect-error a promise of one
    assertType<Db>(Promise.resolve(db));
    // @ts-expect-error a function that gives one
    plain.stats(() => db);
    // @ts-expect-error nothing
    plain.enqueue(undefined, receipt, payload);
    // @ts-expect-error nothing
    plain.stats();
  });

  test("AnyDatabase is any of them for a function of one's own, with typed queries", async () => {
    const place = async (db: AnyDatabase) => {
      const [thing] = await db.insert(things).values({ id: "1" }).returning();
      expectTypeOf(thing).toEqualTypeOf<{ id: string } | undefined>();
      await db.transaction((tx) => plain.enqueue(tx, receipt, payload));
    };
    await place(postgresJs({ client: null as never }));
    await place(pglite());
    await place(nodePostgres({ client: null as never }));
    await pglite().transaction((tx) => place(tx));
  });

  test("is no database of another kind", () => {
    const client = async () => ({ rows: [] });
    // @ts-expect-error MySQL
    assertType<Db>(mysqlProxy(client));
    // @ts-expect-error SQLite
    assertType<Db>(sqliteProxy(client));
    // @ts-expect-error SQLite
    createWorker({ db: sqliteProxy(client), pgqueue: plain });
    // @ts-expect-error MySQL
    migrate(mysqlProxy(client));
  });
});

describe("what makes and migrates databases", () => {
  test("migrate wants one, and answers nothing", () => {
    expectTypeOf(migrate).parameters.toEqualTypeOf<[db: Db]>();
    expectTypeOf(migrate(db)).resolves.toEqualTypeOf<void>();
  });

  test("createTestDatabase gives one", async () => {
    const made = await createTestDatabase({ schema: { things } });
    expectTypeOf(made).toEqualTypeOf<TestDatabase<{ things: typeof things }>>();
    assertType<Db>(made.db);
    expectTypeOf(await made.db.select().from(things)).toEqualTypeOf<{ id: string }[]>();
    expectTypeOf(made.close()).resolves.toEqualTypeOf<void>();
    await made.db.transaction((tx) => plain.enqueue(tx, receipt, payload));
    // @ts-expect-error the schema is required
    createTestDatabase({});
    // @ts-expect-error a schema is a module
    createTestDatabase({ schema: "./schema.ts" });
  });
});
