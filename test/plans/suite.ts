import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Claimed, newClaimToken } from "../../src/index.ts";
import { assertPlans } from "../../src/testing/index.ts";
import { type PostgresMajor, whyMissing } from "../postgres/binaries.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresServer } from "../postgres/server.ts";
import { claimAll, pgqueue } from "../queries/jobs.ts";
import { batch, cases, clock, type Held, spec } from "./cases.ts";
import { plansOf } from "./plans-of.ts";
import { ofKeptPlans, ready, tables } from "./tables.ts";

// A statement has one sensible plan. Whatever the statistics say, or do not say, Postgres has to take that one.

/** The plans of every hot statement, on tables of all shapes, on one major of Postgres. */
export function describePlans(major: PostgresMajor): void {
  const missing = whyMissing(major);
  describe.skipIf(missing)(`Postgres ${major}${missing ? ` (${missing})` : ""}`, () => {
    let server: PostgresServer;
    beforeAll(async () => {
      // Nothing here has to outlive a crash, and statistics change when a test says so.
      server = await PostgresServer.create({ major, settings: { fsync: "off", autovacuum: "off" } });
    }, 60_000);
    afterAll(() => server.destroy());

    test.each([false, true])("a scan of the table would be seen (for whatever values: %s)", async (isGeneric) => {
      const database = await createDatabase({ migrated: true, server: server.url });
      await database.client.unsafe(ready(100));
      const scan = (db: TestDatabase["db"]) => db.execute(sql`select from pgqueue_tasks where queue || ${"r"} = 'qr'`);
      expect(await plansOf(database, scan, { isGeneric })).toEqual([
        { type: "Seq Scan", relation: "pgqueue_tasks", index: undefined, rows: 100, isGeneric },
      ]);
      await database.end();
    });

    describe.each(tables)("on %s", (name, setup) =>
      describeTable(() => server.url, setup, ofKeptPlans.has(name) ? [false, true] : [false]),
    );
  });
}

function describeTable(serverUrl: () => string, setup: string, isGeneric: boolean[]): void {
  let database: TestDatabase;
  let held: Held;

  beforeAll(async () => {
    database = await createDatabase({ migrated: true, server: serverUrl() });
    const { client, db } = database;
    await client.unsafe(setup);
    // Not seen by any statistics: a hundred claims that stand, and a hundred whose lease ran out.
    if (setup) {
      await pgqueue.upsertTicker(db, clock);
      const expired = await claimAll(db, spec, { limit: batch });
      await client`
        update pgqueue_tasks set lease_until = now() - interval '1 s' where id = any(${expired.map(({ id }) => id)})`;
    }
    const token = newClaimToken();
    const tasks = await pgqueue.claim(db, spec, { limit: batch, token });
    expect(tasks).toHaveLength(setup ? batch : 0);
    held = { token, tasks: setup ? tasks : [1, 2].map((id) => ({ ...gone, id })) };
  }, 120_000);
  afterAll(() => database.end());

  const gone = { queue: "q", token: newClaimToken(), claims: 1, attempt: 1, maxRetries: null } as Claimed<any>;

  const planned = isGeneric.flatMap((isGeneric) =>
    cases.map(([name, ...rest]) => [isGeneric ? `${name}, for whatever values` : name, isGeneric, ...rest] as const),
  );
  test.each(planned)("%s", async (_, isGeneric, run, indexes, most) => {
    const attempt = async (db: TestDatabase["db"]) => {
      try {
        await run(db, held);
      } catch (error) {
        if (setup) throw error;
      }
    };
    const touched = await plansOf(database, attempt, { isGeneric });
    const ofTasks = touched.filter(
      ({ relation, index }) => relation !== "pgqueue_queues" && !index?.startsWith("pgqueue_queues"),
    );
    expect(ofTasks.length).toBeGreaterThan(0);
    const allowed = indexes.map((index) => `pgqueue_tasks_${index}`);
    for (const { type, index } of ofTasks) {
      // Postgres plans for ten pages where there is none yet, which it may as well read as a whole.
      if (type === "Bitmap Heap Scan" || (type === "Seq Scan" && !setup)) continue;
      expect(allowed, `${type} ${index ?? "of the table"}`).toContain(index);
    }
    expect(ofTasks.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThanOrEqual(setup ? most : 0);
  });

  test("assertPlans finds nothing wrong", () => assertPlans(database.db, { queue: "q", pgqueue }));
}
