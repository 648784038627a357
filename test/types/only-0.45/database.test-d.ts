import type { BunSQLDatabase } from "drizzle-orm/bun-sql";
import { drizzle as nodePostgres } from "drizzle-orm/node-postgres";
import type { PgDatabase, PgTransaction } from "drizzle-orm/pg-core";
import { drizzle as pglite } from "drizzle-orm/pglite";
import { drizzle as postgresJs } from "drizzle-orm/postgres-js";
import type { Db } from "pgqueue";
import { createTestDatabase } from "pgqueue/testing";
import { assertType, describe, expectTypeOf, test } from "vitest";
import { orders, payload, plain, receipt } from "../shop.ts";

describe("Db on Drizzle 0.45", () => {
  test("is a database with a schema, and its transaction", async () => {
    const schema = { orders };
    const db = postgresJs({ client: null as never, schema });
    assertType<Db>(db);
    await db.transaction(async (tx) => {
      await plain.enqueue(tx, receipt, payload);
      await tx.transaction((nested) => plain.enqueue(nested, receipt, payload));
    });
    assertType<Db>(pglite({ schema }));
    assertType<Db>(nodePostgres({ client: null as never, schema }));
    assertType<Db>(null! as BunSQLDatabase);
    assertType<Db>(null! as BunSQLDatabase<typeof schema>);
  });

  test("is one made of a client alone", () => {
    assertType<Db>(nodePostgres(null! as string));
    assertType<Db>(postgresJs(null! as string));
  });

  test("is what a function over any PgDatabase or PgTransaction holds", () => {
    const generic = (db: PgDatabase<any, any, any>) => plain.enqueue(db, receipt, payload);
    expectTypeOf(generic).returns.resolves.toHaveProperty("deduplicated");
    const within = (tx: PgTransaction<any, any, any>) => plain.enqueue(tx, receipt, payload);
    expectTypeOf(within).returns.resolves.toHaveProperty("deduplicated");
  });

  test("is what createTestDatabase gives, with the schema's own queries", async () => {
    const { db } = await createTestDatabase({ schema: { orders } });
    expectTypeOf(await db.query.orders.findMany()).toEqualTypeOf<{ id: number; to: string }[]>();
    // @ts-expect-error no such table
    db.query.nope;
  });
});
