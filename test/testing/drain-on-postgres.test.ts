import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { createWorker } from "../../src/index.ts";
import { drain } from "../../src/testing/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { enqueue, mail, pgqueue } from "./shop.ts";

test("a connection keeps one prepared statement, however often it is drained on", async () => {
  const database = await createDatabase({ migrated: true });
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  const db = drizzle(pool);
  for (let i = 0; i < 3; i++) {
    await enqueue(db, mail, { to: "ada@example.com" });
    const worker = createWorker({ db, pgqueue }).register(mail, () => {});
    expect(await drain(worker, { until: `${i + 1}h` })).toHaveLength(1);
  }
  const { rows } = await db.execute(sql`select name from pg_prepared_statements`);
  expect(rows).toEqual([{ name: expect.stringMatching(/^pgqueue_drain_[0-9a-f]{16}$/) }]);
  await pool.end();
  await database.end();
});
