import { sql } from "drizzle-orm";
import { pgSchema, uuid } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/pglite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AccessError, createPgqueue, type Db, OptionsError, pgqueueTables, SchemaError } from "../../src/index.ts";
import { assertPlans, createTestDatabase, rollBack, type TestDatabase } from "../../src/testing/index.ts";
import { enqueue, mail, pgqueue, schema, tasks } from "./shop.ts";

describe("assertPlans", () => {
  let database: TestDatabase<typeof schema>;
  // Each with a new one: that its table was never analyzed is undone by no rollback.
  beforeEach(async () => {
    database = await createTestDatabase({ schema });
  });
  afterEach(() => database.close());

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

  /** Undone. */
  const changed = (run: (tx: TestDatabase<typeof schema>["db"]) => Promise<unknown>, ...statements: string[]) =>
    rollBack(database.db, async (tx) => {
      for (const statement of statements) await tx.execute(sql.raw(statement));
      await run(tx as never);
    });
  const logged = () => {
    const sent: string[] = [];
    const logger = { logQuery: (text: string) => void sent.push(text) };
    return { db: drizzle({ client: database.db.$client, logger }), sent };
  };
  const faults = async (tx: Db) =>
    assertPlans(tx, { pgqueue }).then(
      () => [],
      (error) => {
        expect(error.name).toBe("AssertionError");
        return (error.actual as string[]).map((fault) => fault.split(":")[0]);
      },
    );

  test.each([
    ["claim", ["claim", "claim after a task", "claim without crashed"]],
    ["lease", ["releaseClaim", "reap"]],
    ["finished", ["purge of completed", "purge of failed"]],
    ["hash", ["enqueue", 'enqueue with dedup "active"', "enqueueMany", 'enqueueMany with dedup "active"']],
    ["key", ["upsertTicker"]],
  ])("names the statements that miss the index %s", async (index, names) => {
    await changed(
      async (tx) => expect(new Set(await faults(tx))).toEqual(new Set(names)),
      `drop index pgqueue_tasks_${index}`,
    );
  });

  test("names the statements that miss the primary key, in all of their forms", async () => {
    await changed(async (tx) => {
      const names = await faults(tx);
      for (const name of [
        "finalize of completions",
        "finalize that deletes",
        "release",
        "extendLease",
        "markStarted",
      ]) {
        expect(names).toEqual(expect.arrayContaining([name, `${name} of two claims`]));
      }
      const others = ["heldBy", "finalize", "finalize that deletes some", "finalizeOrThrow", "getTask", "claim"];
      expect(names).toEqual(expect.arrayContaining(others));
    }, "alter table pgqueue_tasks drop constraint pgqueue_tasks_pkey");
  });

  test("explains what is sent of tasks of two claims, which has another form", async () => {
    const { db, sent } = logged();
    await assertPlans(db, { pgqueue });
    const ofTwo = sent.filter((text) => text.startsWith("explain") && text.includes("given(id, token, claims)"));
    const changes = [
      "completed",
      "delete from",
      'lease_until" = greatest',
      'started_at" = statement',
      "pgqueue_announced",
    ];
    expect(ofTwo).toHaveLength(changes.length);
    for (const change of changes) expect(ofTwo).toContainEqual(expect.stringContaining(change));
  });

  test("says what is read instead, and of how many", async () => {
    const lease = "pgqueue_tasks_lease (queue, lease_until; partial) or pgqueue_tasks_pkey (id)";
    await changed(async (tx) => {
      const { message } = await assertPlans(tx, { pgqueue }).catch((error) => error);
      const [first, ...rest] = message.split("\n");
      expect(first).toBe("2 plans on pgqueue_tasks are not as they should be:");
      expect(rest[0]).toMatch(/^- releaseClaim: \w+ Scan/);
      expect(rest[0]).toContain(`, expected ${lease}`);
      expect(rest.at(-1)).toMatch(/whatever its name\.$/);
    }, "drop index pgqueue_tasks_lease");
    // Its look-up still has an index, its insert has not.
    await changed(
      (tx) =>
        expect(assertPlans(tx, { pgqueue })).rejects.toThrow(
          /^1 plan on pgqueue_tasks is not as it should be:\n- upsertTicker: no unique index to insert by, expected pgqueue_tasks_key /,
        ),
      "drop index pgqueue_tasks_key",
      "create index own_key on pgqueue_tasks (queue, key) where key is not null",
    );
  });

  test("sees a wrong index that is read as a bitmap", async () => {
    await changed(
      (tx) => expect(assertPlans(tx, { pgqueue })).rejects.toThrow(/reap: Bitmap Index Scan tenant_idx, expected/),
      "drop index pgqueue_tasks_lease",
      "create index tenant_idx on pgqueue_tasks (queue)",
      "set local enable_indexscan = off",
    );
  });

  test("sees a right index that is read from end to end", async () => {
    await changed(
      (tx) =>
        expect(assertPlans(tx, { pgqueue })).rejects.toThrow(/finalize: Index Scan pgqueue_tasks_pkey as a whole/),
      "insert into pgqueue_tasks (queue, payload) select 'bulk', '{}' from generate_series(1, 12000)",
      "analyze pgqueue_tasks",
      "set local enable_nestloop = off",
      "set local enable_hashjoin = off",
      "set local enable_seqscan = off",
    );
  });

  test.each([1, 10, 100, 1_000, 5_000, 9_000])("finds nothing wrong with %i rows that were analyzed", async (rows) => {
    await changed(
      (tx) => assertPlans(tx, { pgqueue, queue: "few" }),
      `insert into pgqueue_tasks (queue, payload, hash, hash_held) select 'few', '{}', g, true from generate_series(1, ${rows}) g`,
      "analyze pgqueue_tasks",
    );
  });

  test("takes an index by its columns, whatever its name", async () => {
    const rename = ["claim", "lease", "hash", "key", "finished", "pkey"].map(
      (index) => `alter index pgqueue_tasks_${index} rename to own_${index}`,
    );
    await changed((tx) => assertPlans(tx, { pgqueue }), ...rename);
    // One of the right name on other columns, and one over all rows, which every ended task would stay in.
    await changed(
      async (tx) => expect(await faults(tx)).toContain("reap"),
      "drop index pgqueue_tasks_lease",
      "create index pgqueue_tasks_lease on pgqueue_tasks (queue, created_at) where status = 'running'",
    );
    await changed(
      async (tx) => expect(await faults(tx)).toContain("claim"),
      "drop index pgqueue_tasks_claim",
      "create index pgqueue_tasks_claim on pgqueue_tasks (queue, priority, run_at, id)",
    );
  });

  test("says what to do where tables or rights are missing, as the statements do", async () => {
    const elsewhere = createPgqueue(pgqueueTables({ schema: pgSchema("elsewhere"), prefix: "other_" }));
    await expect(assertPlans(database.db, { pgqueue: elsewhere })).rejects.toThrow(SchemaError);
    await changed(
      (tx) => expect(assertPlans(tx, { pgqueue })).rejects.toThrow(SchemaError),
      "drop table pgqueue_tasks",
    );
    await changed(
      (tx) => expect(assertPlans(tx, { pgqueue })).rejects.toThrow(AccessError),
      "create role reader",
      "grant select on pgqueue_tasks, pgqueue_queues to reader",
      "set local role reader",
    );
  });

  test("wants no values for columns of your own", async () => {
    const own = pgqueueTables({ columns: { tenantId: uuid("tenant_id").notNull() } });
    const { db, close } = await createTestDatabase({ schema: { ...own } });
    await assertPlans(db, { pgqueue: createPgqueue(own) });
    await close();
  });

  test.each([
    [0, true],
    [50_000, false],
  ])("counts the pages of a table that was never analyzed: of %i rows, small is %s", async (rows, isSmall) => {
    const { db, sent } = logged();
    await db.execute(
      sql`insert into pgqueue_tasks (queue, payload) select 'q', '{}' from generate_series(1, ${rows}::int)`,
    );
    await assertPlans(db, { pgqueue, queue: { ...mail, queue: "q" } });
    expect(sent.includes("set local enable_seqscan = off")).toBe(isSmall);
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
