import type { AwsDataApiPgDatabase } from "drizzle-orm/aws-data-api/pg";
import type { BunSQLDatabase } from "drizzle-orm/bun-sql";
import { drizzle as mysqlProxy } from "drizzle-orm/mysql-proxy";
import type { MySql2Database } from "drizzle-orm/mysql2";
import type { NeonHttpDatabase } from "drizzle-orm/neon-http";
import type { NeonDatabase } from "drizzle-orm/neon-serverless";
import { drizzle as nodePostgres } from "drizzle-orm/node-postgres";
import { integer, type PgDatabase, pgTable, withReplicas } from "drizzle-orm/pg-core";
import { drizzle as pgProxy } from "drizzle-orm/pg-proxy";
import { drizzle as pglite } from "drizzle-orm/pglite";
import { drizzle as postgresJs } from "drizzle-orm/postgres-js";
import { drizzle as sqliteProxy } from "drizzle-orm/sqlite-proxy";
import { createPgqueue, createWorker, type Db, defineJob, migrate, pgqueueTables } from "pgqueue";
import { createTestDatabase } from "pgqueue/testing";
import * as v from "valibot";
import { assertType, describe, expectTypeOf, test } from "vitest";

const things = pgTable("things", { id: integer("id").primaryKey() });
const pgqueue = createPgqueue(pgqueueTables());
const job = defineJob({ queue: "j", payload: v.object({ n: v.number() }) });

describe("Db", () => {
  test("is a database of any Postgres driver, with a schema or without", () => {
    const db = postgresJs({ client: null as never });
    assertType<Db>(db);
    assertType<Db>(postgresJs({ client: null as never, schema: { things } }));
    assertType<Db>(pglite());
    assertType<Db>(pglite({ schema: { things } }));
    assertType<Db>(nodePostgres({ client: null as never }));
    assertType<Db>(pgProxy(async () => ({ rows: [] })));
    assertType<Db>(null! as NeonHttpDatabase);
    assertType<Db>(null! as NeonDatabase);
    assertType<Db>(null! as BunSQLDatabase);
    assertType<Db>(null! as AwsDataApiPgDatabase);
    assertType<Db>(withReplicas(db, [db]));
  });

  test("is what a function over any PgDatabase holds", () => {
    const generic = (db: PgDatabase<any, any, any>) => pgqueue.enqueue(db, job, { n: 1 });
    expectTypeOf(generic).returns.resolves.toHaveProperty("deduplicated");
  });

  test("is a transaction and a nested one", async () => {
    const db = postgresJs({ client: null as never });
    await db.transaction(async (tx) => {
      await pgqueue.enqueue(tx, job, { n: 1 });
      await tx.transaction(async (nested) => {
        await pgqueue.enqueue(nested, job, { n: 1 });
      });
    });
    await pglite().transaction(async (tx) => {
      await pgqueue.enqueue(tx, job, { n: 1 });
    });
  });

  test("is no database of another kind", () => {
    const client = async () => ({ rows: [] });
    // @ts-expect-error MySQL
    assertType<Db>(mysqlProxy(client));
    // @ts-expect-error MySQL
    assertType<Db>(null! as MySql2Database);
    // @ts-expect-error SQLite
    assertType<Db>(sqliteProxy(client));
    // @ts-expect-error a driver's own client
    assertType<Db>(postgresJs({ client: null as never }).$client);
    // @ts-expect-error a table
    assertType<Db>(things);
    // @ts-expect-error nothing
    pgqueue.enqueue(undefined, job, { n: 1 });
    // @ts-expect-error SQLite
    createWorker({ db: sqliteProxy(client), pgqueue });
    // @ts-expect-error SQLite
    migrate(sqliteProxy(client));
  });

  test("is what createTestDatabase gives", async () => {
    const { db } = await createTestDatabase({ schema: { things } });
    assertType<Db>(db);
    expectTypeOf(await db.query.things.findMany()).toEqualTypeOf<{ id: number }[]>();
  });
});
