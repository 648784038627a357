import { afterAll, describe, expect, test } from "vitest";
import { type Claimed, done } from "../../../src/index.ts";
import { createDatabase } from "../../postgres/database.ts";
import { claimNew, job, pgqueue, tasks } from "../jobs.ts";
import { begin, sqlState } from "../transactions.ts";
import { extendNaively, finalizeNaively } from "./naive.ts";

// Bulk statements that name the same rows in different orders.

const database = await createDatabase({ migrated: true, client: { connection: { deadlock_timeout: 10 } as never } });
const { db, client } = database;
afterAll(database.end);

const spec = job();
const held = await claimNew(db, spec, 400);
const reversed = held.toReversed();
const deadlock = "40P01";

type Bulk = (claims: Claimed<any>[]) => PromiseLike<unknown>;
const ours: Record<string, Bulk> = {
  extendLease: (claims) => pgqueue.extendLease(db, spec, claims),
  markStarted: (claims) => pgqueue.markStarted(db, spec, claims),
  async finalize(claims) {
    const { tx, rollback } = await begin(db);
    const outcomes = claims.map((task) => ({ task, result: done() }));
    await pgqueue.finalize(tx, spec, outcomes).finally(rollback);
  },
  async release(claims) {
    const { tx, rollback } = await begin(db);
    await pgqueue.release(tx, spec, claims).finally(rollback);
  },
};
const naive: Record<string, Bulk> = {
  extendLease: (claims) => extendNaively(client, claims),
  async finalize(claims) {
    const undo = client.begin(async (sql) => {
      await finalizeNaively(sql as never, claims);
      throw new Error("undo");
    });
    await undo.catch((error) => {
      if (error.message !== "undo") throw error;
    });
  },
};

async function deadlocks(one: Bulk, other: Bulk, rounds: number, enough = Number.POSITIVE_INFINITY): Promise<number> {
  let count = 0;
  for (let round = 0; round < rounds && count < enough; round++) {
    const states = await Promise.all([sqlState(one(held)), sqlState(other(reversed))]);
    for (const state of states) expect([undefined, deadlock]).toContain(state);
    count += states.filter((state) => state === deadlock).length;
  }
  return count;
}

describe("in 40 rounds", () => {
  test.each([
    ["extendLease", "extendLease"],
    ["extendLease", "finalize"],
    ["finalize", "finalize"],
    ["finalize", "release"],
    ["markStarted", "extendLease"],
  ])("%s against %s never deadlocks", async (one, other) => {
    expect(await deadlocks(ours[one]!, ours[other]!, 40)).toBe(0);
  });
});

test.each([
  ["extendLease", "extendLease"],
  ["extendLease", "finalize"],
])("written naively, %s against %s does", async (one, other) => {
  expect(await deadlocks(naive[one]!, naive[other]!, 500, 1)).toBe(1);
});

test("afterwards every claim still stands", async () => {
  const rows = await db.select({ status: tasks.status, claims: tasks.claims }).from(tasks);
  expect(rows).toEqual(held.map(() => ({ status: "running", claims: 1 })));
});
