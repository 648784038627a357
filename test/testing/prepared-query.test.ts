import { sql } from "drizzle-orm";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../src/testing/index.ts";

const numbers = pgTable("codes", { code: integer("code") });
const texts = pgTable("codes", { code: text("code") });

let database: TestDatabase<{ numbers: typeof numbers }>;
beforeEach(async () => {
  database = await createTestDatabase({ schema: { numbers } });
});
afterEach(() => database.close());

const twice = async (run: () => PromiseLike<unknown>) => {
  await run();
  await run();
};

test.each([
  ["execute", (ddl: string) => database.db.execute(sql.raw(ddl))],
  ["exec", (ddl: string) => database.db.$client.exec(ddl)],
] as const)("a parameter has the type of its column, which may change meanwhile: by %s", async (_, change) => {
  const { db } = database;
  await twice(() => db.insert(numbers).values({ code: 7 }));
  await change("alter table codes alter column code type text");
  await db.insert(texts).values({ code: "007" });
  expect(await db.select().from(texts)).toEqual([{ code: "7" }, { code: "7" }, { code: "007" }]);
});

test("a result may change its columns, inside a transaction that was begun by hand too", async () => {
  const { db } = database;
  await twice(() => db.execute(sql`select * from codes`));
  await db.execute(sql`begin`);
  await db.execute(sql`alter table codes add column name text`);
  expect((await db.execute(sql`select * from codes`)).fields.map(({ name }) => name)).toEqual(["code", "name"]);
  await db.execute(sql`rollback`);
  expect((await db.execute(sql`select * from codes`)).fields.map(({ name }) => name)).toEqual(["code"]);
});

test("a table may be made anew", async () => {
  const { db } = database;
  await twice(() => db.select().from(numbers));
  await db.execute(sql`drop table codes`);
  await db.execute(sql`create table codes (code text)`);
  await twice(() => db.insert(texts).values({ code: "a" }));
  expect(await db.select().from(texts)).toHaveLength(2);
});

test("more texts than are kept are answered all the same", async () => {
  const { db } = database;
  for (let i = 0; i < 600; i++) {
    const { rows } = await db.execute(sql`select ${sql.raw(String(i))}::int as i`);
    expect(rows).toEqual([{ i }]);
  }
});

test("what is prepared anew does not stay beside what it was before", async () => {
  const { db } = database;
  const rows = sql`select name from pg_prepared_statements where name like 'pgqueue_%'`;
  for (let i = 0; i < 5; i++) {
    await db.insert(numbers).values({ code: i });
    await db.select().from(numbers);
    await db.$client.exec("create table other (); drop table other");
  }
  // Which is this one itself.
  expect((await db.execute(rows)).rows).toHaveLength(1);
});

test("an error has what PGlite says of it", async () => {
  const failed = database.db.$client.query("select * from codes where code = $1", ["x"]);
  await expect(failed).rejects.toMatchObject({ code: "22P02", query: expect.stringContaining("codes"), params: ["x"] });
});
