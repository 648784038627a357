import { eq, sql } from "drizzle-orm";
import { integer } from "drizzle-orm/pg-core";
import { afterAll, expect, test } from "vitest";
import { createPgqueue, fail, OptionsError, pgqueueTables } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimOne, job, pgqueue, tasks, ticker } from "./jobs.ts";
import { recorded } from "./recorder.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
const { enqueue, enqueueMany, listTasks } = pgqueue;

const spec = job();
const other = job();
await enqueueMany(
  db,
  spec,
  Array.from({ length: 120 }, (_, payload) => ({ payload, priority: payload % 2 })),
);
await enqueue(db, other, "broken");
await pgqueue.finalize(db, other, { task: await claimOne(db, other), result: fail("x") });
await pgqueue.upsertTicker(db, ticker({ queue: other.queue }));

test("lists the newest hundred, highest id first", async () => {
  const list = await listTasks(db);
  expect(list).toHaveLength(100);
  expect(list[0]).toMatchObject({ kind: "ticker", queue: other.queue });
  expect(list.map(({ id }) => id)).toEqual(list.map(({ id }) => id).toSorted((a, b) => b - a));
  expect(list[0]).toEqual((await pgqueue.getTask(db, list[0]!.id))[0]);
});

test("filters by queue, status, kind and condition, all together", async () => {
  expect(await listTasks(db, { queue: spec, limit: 1_000 })).toHaveLength(120);
  expect(await listTasks(db, { queue: other.queue })).toHaveLength(2);
  expect(await listTasks(db, { status: "failed" })).toMatchObject([{ payload: "broken", errors: [{ message: "x" }] }]);
  expect(await listTasks(db, { kind: "ticker" })).toHaveLength(1);
  expect(await listTasks(db, { queue: other, kind: "job", status: "pending" })).toEqual([]);
  expect(await listTasks(db, { queue: spec, where: eq(tasks.priority, 1) })).toHaveLength(60);
  const where = sql`${tasks.payload} = '7' or ${tasks.payload} = '"broken"'`;
  expect(await listTasks(db, { queue: spec, where })).toMatchObject([{ payload: 7 }]);
});

test("is read page by page without a gap or a repetition", async () => {
  const seen: number[] = [];
  for (let before: number | undefined; ; ) {
    const page = await listTasks(db, { queue: spec, limit: 50, ...(before === undefined ? {} : { before }) });
    if (page.length === 0) break;
    seen.push(...page.map(({ payload }) => payload as number));
    before = page.at(-1)!.id;
  }
  expect(seen).toEqual(Array.from({ length: 120 }, (_, i) => 119 - i));
});

test("carries the user's own columns, and filters by them", async () => {
  const database = await createDatabase({ migrated: true });
  await database.client`alter table pgqueue_tasks add column tenant int`;
  const tables = pgqueueTables({ columns: { tenant: integer("tenant") } });
  const own = createPgqueue(tables);
  await own.enqueue(database.db, spec, "a", { columns: { tenant: 1 } });
  await own.enqueue(database.db, spec, "b", { columns: { tenant: 2 } });
  const list = await own.listTasks(database.db, { where: eq(tables.tasks.tenant, 2) });
  expect(list).toMatchObject([{ payload: "b", columns: { tenant: 2 } }]);
  expect((await own.getTask(database.db, list[0]!.id))[0]?.columns).toEqual({ tenant: 2 });
  await database.end();
});

test.each<[filter: object, field: string]>([
  [{ limit: 0 }, "listTasks.limit"],
  [{ limit: 10_001 }, "listTasks.limit"],
  [{ before: -1 }, "listTasks.before"],
  [{ before: "5" }, "listTasks.before"],
  [{ status: "done" }, "listTasks.status"],
  [{ kind: "cron" }, "listTasks.kind"],
  [{ queue: "" }, "listTasks.queue"],
  [{ queue: {} }, "listTasks.queue"],
  [{ offset: 5 }, "listTasks.offset"],
  [{ where: "tenant = 1" }, "listTasks.where"],
])("%o is refused before any SQL, naming %s", (filter, field) => {
  const { db, statements } = recorded(database);
  expect(() => listTasks(db, filter as never)).toThrow(expect.objectContaining({ constructor: OptionsError, field }));
  expect(statements).toEqual([]);
});
