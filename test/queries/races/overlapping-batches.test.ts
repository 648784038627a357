import { integer } from "drizzle-orm/pg-core";
import { afterAll, expect, test } from "vitest";
import { createPgqueue, pgqueueTables } from "../../../src/index.ts";
import { createDatabase } from "../../postgres/database.ts";
import { idsOf, job, pgqueue } from "../jobs.ts";
import { sqlState } from "../transactions.ts";
import { enqueueNaively } from "./naive.ts";

// Two processes enqueue batches that share hashes, each in an order of its own.

const database = await createDatabase({ migrated: true, client: { connection: { deadlock_timeout: 10 } as never } });
const { db, client } = database;
afterAll(database.end);
await client`alter table pgqueue_tasks add column a int, add column b int`;

const hashesOf = (round: number, count = 300) => Array.from({ length: count }, (_, i) => `${i * 7919}-${round}`);
const shuffled = <T>(list: readonly T[]) => list.toSorted(() => Math.random() - 0.5);

test("they never deadlock, and agree on the ids", async () => {
  const spec = job({ hash: (p) => p });
  for (let round = 0; round < 30; round++) {
    const hashes = hashesOf(round);
    const batches = [hashes, hashes.toReversed(), shuffled(hashes)];
    const answers = await Promise.all(
      batches.map((batch) =>
        pgqueue.enqueueMany(
          db,
          spec,
          batch.map((payload) => ({ payload })),
        ),
      ),
    );
    const idOf = batches.map((batch, i) => new Map(batch.map((hash, j) => [hash, answers[i]![j]!.id])));
    for (const hash of hashes) expect(new Set(idOf.map((ids) => ids.get(hash))).size).toBe(1);
    const made = answers.flat().filter(({ deduplicated }) => !deduplicated);
    expect(made).toHaveLength(hashes.length);
  }
});

test("nor in several statements each, nor where the items set different columns", async () => {
  const tables = pgqueueTables({ columns: { a: integer("a"), b: integer("b") } });
  const own = createPgqueue(tables);
  const columns = [{}, { a: 1 }, { b: 1 }];
  for (let round = 0; round < 10; round++) {
    const spec = job({ hash: (p) => p });
    const hashes = hashesOf(round, 24);
    const runs = [0, 1, 2].map((shift) =>
      own.enqueueMany(
        db,
        spec,
        shuffled(hashes.map((payload, i) => ({ payload, columns: columns[(i + shift) % 3]! }))),
      ),
    );
    expect(await Promise.all(runs.map(sqlState))).toEqual([undefined, undefined, undefined]);
    expect(await idsOf(db, spec)).toHaveLength(hashes.length);
  }
});

test("written naively, they do", async () => {
  const { queue } = job();
  let seen = false;
  for (let round = 0; round < 500 && !seen; round++) {
    const hashes = hashesOf(round);
    const runs = [hashes, hashes.toReversed()].map((batch) => enqueueNaively(client, queue, batch));
    const states = await Promise.all(runs.map(sqlState));
    seen = states.includes("40P01");
  }
  expect(seen).toBe(true);
});
