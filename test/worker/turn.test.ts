import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { job, pgqueue, rowOf } from "../queries/jobs.ts";
import { heldLink } from "./held-link.ts";
import { observe, until } from "./observed.ts";

// postgres.js 3.4.9 never answers what is sent in the turn of the event loop in which it loses a connection.

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const sleeping = async () =>
  (await database.client`select 1 from pg_stat_activity where query like 'select pg_sleep(60)%'`).length;

describe("a connection that is reset under a handler's own query", () => {
  test.each<[string, (query: Promise<unknown>) => Promise<void>]>([
    ["that the handler lets fail", async (query) => void (await query)],
    ["whose error the handler swallows", async (query) => void (await query.catch(() => {}))],
  ])("%s: its outcome is written, and the worker goes on", async (_, survive) => {
    const link = await heldLink(database, { max: 2, fetch_types: false, backoff: () => 0.05 });
    const spec = job({ pollInterval: 50, retryDelay: 0, maxRetries: 100 });
    const observed = await observe(link.db, { tolerate: ["error", "unknown"], concurrency: 2, listen: false })
      .on(spec, async ({ payload, attempt }) => {
        if (payload === "long" && attempt === 1) await survive(link.db.execute(sql.raw("select pg_sleep(60)")));
      })
      .start();
    for (let round = 0; round < 5; round++) {
      const long = await pgqueue.enqueue(database.db, spec, "long");
      await until(sleeping);
      link.reset();
      await until(async () => (await rowOf(database.db, long.id)).status === "completed");
      const next = await pgqueue.enqueue(database.db, spec, "next");
      await until(async () => (await rowOf(database.db, next.id)).status === "completed");
      await database.client`select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep(60)%'`;
      await until(async () => (await sleeping()) === 0);
    }
    await observed.worker.stop();
    await link.end();
    expect(observed.of("lost")).toEqual([]);
  });
});
