import { getTableName, is, Table } from "drizzle-orm";
import { Cache } from "drizzle-orm/cache/core";
import { drizzle } from "drizzle-orm/postgres-js";
import { afterAll, expect, test } from "vitest";
import { done } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { job, pgqueue } from "./jobs.ts";

/** Keeps the answer of every select, until a table that it read is written to. */
class Everything extends Cache {
  readonly #answers = new Map<string, { answer: unknown[]; tables: string[] }>();
  hits = 0;

  override strategy() {
    return "all" as const;
  }

  override async get(key: string) {
    const known = this.#answers.get(key);
    if (known) this.hits++;
    return known?.answer;
  }

  override async put(key: string, answer: unknown[], tables: string[]) {
    this.#answers.set(key, { answer, tables });
  }

  override async onMutate({ tables = [] }: { tables?: string | string[] | Table | Table[] }) {
    const written = [tables].flat().map((table) => (is(table, Table) ? getTableName(table) : (table as string)));
    for (const [key, { tables }] of this.#answers) {
      if (tables.some((table) => written.includes(table))) this.#answers.delete(key);
    }
  }
}

const database = await createDatabase({ migrated: true });
const cache = new Everything();
const db = drizzle({ client: database.client, cache });
afterAll(database.end);

test("Drizzle's cache answers none of our statements", async () => {
  const spec = job({ hash: (payload) => `h${payload}` });
  const rolledBack = new Error("rolled back");
  const lost = db.transaction(async (tx) => {
    await pgqueue.enqueue(tx, spec, 5);
    throw rolledBack;
  });
  await expect(lost).rejects.toBe(rolledBack);

  const { id, ...first } = await db.transaction((tx) => pgqueue.enqueue(tx, spec, 5));
  expect(first).toEqual({ status: "pending", deduplicated: false });
  expect(await pgqueue.getTask(database.db, id)).toMatchObject([{ payload: 5 }]);
  for (const _ of [1, 2]) expect(await pgqueue.enqueue(db, spec, 5)).toMatchObject({ id, deduplicated: true });
  expect(await pgqueue.enqueueMany(db, spec, [{ payload: 5 }])).toMatchObject([{ id, deduplicated: true }]);

  expect(await pgqueue.listTasks(db, { queue: spec })).toHaveLength(1);
  // By another process.
  await pgqueue.enqueue(database.db, spec, 6);
  expect(await pgqueue.listTasks(db, { queue: spec })).toHaveLength(2);
  const tasks = await pgqueue.claim(db, spec, { limit: 9 });
  expect(await pgqueue.heldBy(db, spec, tasks)).toMatchObject([{ holding: "busy" }, { holding: "busy" }]);
  await pgqueue.finalize(
    database.db,
    spec,
    tasks.map((task) => ({ task, result: done() })),
  );
  expect(await pgqueue.heldBy(db, spec, tasks)).toMatchObject([{ holding: "lost" }, { holding: "lost" }]);
  expect(cache.hits).toBe(0);
});
