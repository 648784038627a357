import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, expect, test } from "vitest";
import { type Claimed, newClaimToken } from "../../../src/index.ts";
import { createDatabase } from "../../postgres/database.ts";
import { idsOf, job, pgqueue } from "../jobs.ts";
import { sqlState } from "../transactions.ts";

// Many claim from one queue at once.

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);

const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload, priority: payload % 3 }));

test("each of a few thousand tasks goes to exactly one of them", async () => {
  const spec = job();
  await pgqueue.enqueueMany(db, spec, items(3_000));
  const claimers = Array.from({ length: 8 }, async (_, i) => {
    const mine: Claimed<any>[] = [];
    for (;;) {
      const claimed = await pgqueue.claim(db, spec, { limit: 1 + i * 7 });
      if (claimed.length === 0) return mine;
      mine.push(...claimed);
    }
  });
  const claimed = (await Promise.all(claimers)).flat();
  // A batch may be short, even empty, although more is due, when others were faster.
  claimed.push(...(await pgqueue.claim(db, spec, { limit: 10_000 })));
  expect(claimed.map(({ id }) => id).sort((a, b) => a - b)).toEqual(await idsOf(db, spec));
  expect(new Set(claimed.map(({ claims }) => claims))).toEqual(new Set([1]));
});

test.each(["repeatable read", "serializable"] as const)(
  "where the database's default is %s, a claim may fail with 40001 and nothing else",
  async (isolation) => {
    const spec = job();
    await pgqueue.enqueueMany(db, spec, items(600));
    const clients = Array.from({ length: 4 }, () =>
      postgres(database.url, { max: 1, onnotice: () => {}, connection: { default_transaction_isolation: isolation } }),
    );
    const claimed: number[] = [];
    await Promise.all(
      clients.map(async (client) => {
        const handle = drizzle(client);
        for (let empty = 0; empty < 3; ) {
          const run = pgqueue.claim(handle, spec, { limit: 20, token: newClaimToken() });
          let tasks: Claimed<any>[] = [];
          const state = await sqlState(
            run.then((rows) => {
              tasks = rows;
            }),
          );
          expect([undefined, "40001"]).toContain(state);
          if (state) continue;
          empty = tasks.length === 0 ? empty + 1 : 0;
          claimed.push(...tasks.map(({ id }) => id));
        }
      }),
    );
    expect(new Set(claimed).size).toBe(claimed.length);
    expect(claimed.sort((a, b) => a - b)).toEqual(await idsOf(db, spec));
    await Promise.all(clients.map((client) => client.end()));
  },
);
