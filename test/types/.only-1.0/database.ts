import { defineRelations } from "drizzle-orm";
import type { BunSQLDatabase } from "drizzle-orm/bun-sql/postgres";
import { drizzle as cockroach } from "drizzle-orm/cockroach";
import { drizzle as nodePostgres } from "drizzle-orm/node-postgres";
import type { PgAsyncDatabase, PgAsyncTransaction } from "drizzle-orm/pg-core";
import { drizzle as pglite } from "drizzle-orm/pglite";
import { drizzle as postgresJs } from "drizzle-orm/postgres-js";
import type { Db } from "pgqueue";
import { createTestDatabase } from "pgqueue/testing";
import { assertType, describe, expectTypeOf, test } from "vitest";
import { orders, payload, plain, receipt } from "../shop.ts";

describe("Db on Drizzle 1.0", () => {
  test("is a database with relations, and its transaction", async () => {
    const relations = defineRelations({ orders });
    const db = postgresJs({ client: null as never, relations });
    assertType<Db>(db);
    await db.transaction(async (tx) => {
      await plain.enqueue(tx, receipt, payload);
      await tx.transaction((nested) => plain.enqueue(nested, receipt, payload));
    });
    assertType<Db>(pglite({ relations }));
    assertType<Db>(nodePostgres({ client: null as never, relations }));
    assertType<Db>(null! as BunSQLDatabase);
    assertType<Db>(null! as BunSQLDatabase<typeof relations>);
  });

  test("is what a function over any PgAsyncDatabase or PgAsyncTransaction holds", () => {
    const generic = (db: PgAsyncDatabase<any, any>) => plain.enqueue(db, receipt, payload);
    expectTypeOf(generic).returns.resolves.toHaveProperty("deduplicated");
    const within = (tx: PgAsyncTransaction<any, any>) => plain.enqueue(tx, receipt, payload);
    expectTypeOf(within).returns.resolves.toHaveProperty("deduplicated");
  });

  test("is no CockroachDB", () => {
    // @ts-expect-error it has what Postgres has, but for a little
    assertType<Db>(cockroach({ client: null as never }));
  });

  test("is what createTestDatabase gives, without relations that it was not told of", async () => {
    const { db } = await createTestDatabase({ schema: { orders } });
    assertType<Db>(db);
    expectTypeOf(await db.select().from(orders)).toEqualTypeOf<{ id: number; to: string }[]>();
    // @ts-expect-error a schema is no relations
    db.query.orders;
  });
});
