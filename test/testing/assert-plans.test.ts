import { sql } from "drizzle-orm";
import { pgSchema } from "drizzle-orm/pg-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPgqueue, OptionsError, pgqueueTables } from "../../src/index.ts";
import { assertPlans, createTestDatabase, type TestDatabase } from "../../src/testing/index.ts";
import { enqueue, mail, pgqueue, schema, tasks } from "./shop.ts";

describe("assertPlans", () => {
  let database: TestDatabase<typeof schema>;
  beforeAll(async () => {
    database = await createTestDatabase({ schema });
  });
  afterAll(() => database.close());

  test("finds nothing wrong with the tables as they are made, and changes nothing", async () => {
    const { db } = database;
    await enqueue(db, mail, { to: "a" });
    const before = await db.select().from(tasks);
    await assertPlans(db, { pgqueue });
    await assertPlans(db, { pgqueue, queue: mail.queue });
    await db.transaction(async (tx) => {
      await assertPlans(tx, { pgqueue });
      expect((await tx.execute(sql`show enable_seqscan`)).rows).toEqual([{ enable_seqscan: "on" }]);
    });
    expect(await db.select().from(tasks)).toEqual(before);
    expect((await db.$client.query("show enable_seqscan")).rows).toEqual([{ enable_seqscan: "on" }]);
  });

  test.each([
    ["claim", /claim: .*expected pgqueue_tasks_claim or pgqueue_tasks_pkey/],
    ["lease", /reap: .*expected pgqueue_tasks_lease/],
    ["finished", /purge of completed: .*expected pgqueue_tasks_finished/],
    ["hash", /enqueue of a held hash: .*expected pgqueue_tasks_hash/],
  ])("names the statements that miss the index %s", async (index, message) => {
    const { db } = database;
    const undone = new Error("undone");
    const run = db.transaction(async (tx) => {
      await tx.execute(sql.raw(`drop index pgqueue_tasks_${index}`));
      await expect(assertPlans(tx, { pgqueue })).rejects.toThrow(message);
      await expect(assertPlans(tx, { pgqueue })).rejects.toMatchObject({ name: "AssertionError" });
      throw undone;
    });
    await expect(run).rejects.toBe(undone);
  });

  test("looks at a large table as it is, where a sequential scan may be no choice of the test's", async () => {
    const { db } = database;
    const undone = new Error("undone");
    const run = db.transaction(async (tx) => {
      await tx.execute(
        sql`insert into pgqueue_tasks (queue, payload) select 'bulk', '{}' from generate_series(1, 12000)`,
      );
      await tx.execute(sql`analyze pgqueue_tasks`);
      await assertPlans(tx, { pgqueue, queue: "bulk" });
      await tx.execute(sql`drop index pgqueue_tasks_claim`);
      await expect(assertPlans(tx, { pgqueue, queue: "bulk" })).rejects.toThrow(/claim: Seq Scan/);
      throw undone;
    });
    await expect(run).rejects.toBe(undone);
  });

  test("knows tables of another prefix, in a schema, for Citus", async () => {
    const jobs = pgSchema("jobs");
    const own = pgqueueTables({ schema: jobs, prefix: "work_", distributed: true });
    const { db, close } = await createTestDatabase({ schema: { jobs, ...own } });
    // Its primary key has the name that drizzle-kit gives it.
    await assertPlans(db, { pgqueue: createPgqueue(own) });
    await close();
  });

  test("refuses options that it does not have", async () => {
    await expect(assertPlans(database.db, { tables: 1 } as never)).rejects.toThrow(OptionsError);
    await expect(assertPlans(database.db, { pgqueue: {} as never })).rejects.toThrow(OptionsError);
  });
});
