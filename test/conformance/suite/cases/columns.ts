import assert from "node:assert/strict";
import { and, eq, gt, isNull, sql } from "drizzle-orm";
import { date, integer, text } from "drizzle-orm/pg-core";
import { createPgqueue, createWorker, type ExtraInsert, pgqueueTables } from "pgqueue";
import type { Case } from "../case.ts";
import { create } from "../creation.ts";
import type { Database } from "../driver.ts";
import { rowsOf } from "../rows.ts";
import { job, ticker } from "../shop.ts";
import { wide, wideTasks } from "../wide.ts";

type Columns = ExtraInsert<typeof wideTasks>;

const tenant = "0b2ff6a7-3b0c-4d53-9d4a-7c1f6a5d9e10";

/** Each set without `code`, which is unique. */
const sets: readonly Columns[] = [
  {
    tenant,
    label: 'it\'s "{a,b}" \\ $1 ünïcødé',
    origin: "given",
    count: -7,
    big: Number.MAX_SAFE_INTEGER,
    huge: 9_223_372_036_854_775_807n,
    price: "12345678.9012",
    ratio: 0.1,
    active: true,
    at: new Date("2026-01-02T03:04:05.678Z"),
    local: "2026-01-02 03:04:05.123456",
    day: "2026-01-02",
    document: { a: [1, "x", null], "b'": { c: "\u{1f600}" } },
    mood: "it's {bad}",
  },
  { tenant, label: "", count: 0, huge: -1n, price: "0.0000", active: false, document: [1, { a: "[2]" }] },
  { tenant },
  { tenant, ratio: Number.NaN },
  { tenant, ratio: Number.NEGATIVE_INFINITY },
];

const names = ["tenant", "label", "origin", "count", "big", "huge", "price", "ratio", "active", "at", "local"] as const;
const own = pick([...names, "day", "mood", "document"]);

function pick<Name extends keyof typeof wideTasks>(keys: readonly Name[]): Pick<typeof wideTasks, Name> {
  return Object.fromEntries(keys.map((key) => [key, wideTasks[key]])) as Pick<typeof wideTasks, Name>;
}

/** What the user's own insert and select make of a set: drivers read and write some types in ways of their own. */
async function referenceOf(db: Database, set: Columns, code: string) {
  await db.insert(wideTasks).values({ queue: "reference", payload: 1, ...set, code });
  const [row] = await db.select(own).from(wideTasks).where(eq(wideTasks.code, code));
  return row!;
}

/** The columns as Postgres prints them, so that a driver's wrong encoding is not hidden by as wrong a decoding. */
async function printed(db: Database, code: string): Promise<{ document: unknown; others: unknown }> {
  const { count, document, ...rest } = own;
  const texts = sql.join(
    Object.values(rest).map((column) => sql`${column}::text`),
    sql`, `,
  );
  const [row] = await rowsOf<{ document: string; others: string }>(
    db,
    sql`select jsonb_build_array(${document})::text as document, array_to_json(array[${texts}])::text as others
      from ${wideTasks} where ${wideTasks.code} = ${code}`,
  );
  return { document: JSON.parse(row!.document)[0], others: JSON.parse(row!.others) };
}

export const columnCases: readonly Case[] = [
  {
    name: "your own columns go in by enqueue and enqueueMany, and come back from claim, getTask and listTasks",
    async run({ db }) {
      const spec = job();
      const expected: unknown[] = [];
      for (const [i, set] of sets.entries()) {
        const [reference, one, many] = [`ref ${i}`, `one ${i}`, `many ${i}`];
        // The unique index over (tenant, count) lets each count in once.
        const counted = (times: number) => ({ ...set, count: i * 10 + times });
        const row = await referenceOf(db, counted(0), reference);
        await wide.enqueue(db, spec, one, { columns: { ...counted(1), code: one } });
        await wide.enqueueMany(db, spec, [{ payload: many, columns: { ...counted(2), code: many } }]);
        expected.push({ ...row, count: i * 10 + 1, code: one }, { ...row, count: i * 10 + 2, code: many });
        const texts = await printed(db, reference);
        assert.deepEqual(await printed(db, one), texts);
        assert.deepEqual(await printed(db, many), { ...texts, document: set.document ?? null });
      }
      const listed = (await wide.listTasks(db, { queue: spec })).toReversed();
      assert.deepEqual(
        listed.map(({ columns }) => columns),
        expected,
      );
      for (const { id, columns } of listed) assert.deepEqual((await wide.getTask(db, id))[0]?.columns, columns);
      const claimed = (await wide.claim(db, spec, { limit: 100 })).sort((a, b) => a.id - b.id);
      assert.deepEqual(
        claimed.map(({ columns }) => columns),
        expected,
      );
    },
  },
  {
    name: "text that looks like JSON is text in a jsonb column of yours, by enqueueMany",
    async run({ db }) {
      const spec = job();
      const documents = ["5", "true", "null", "str", '{"a":"\\n"}'];
      const items = documents.map((document, i) => ({
        payload: i,
        columns: { tenant, document, count: 400 + i, code: `text ${i}` },
      }));
      await wide.enqueueMany(db, spec, items);
      // As Postgres sees them: Drizzle 0.45 reads such text as JSON once more.
      const rows = await rowsOf<{ text: string }>(
        db,
        sql`select document #>> '{}' as text from ${wideTasks} where ${wideTasks.queue} = ${spec.queue} order by id`,
      );
      assert.deepEqual(
        rows.map(({ text }) => text),
        documents,
      );
    },
  },
  {
    name: "one enqueueMany takes items with different columns",
    async run({ db }) {
      const spec = job();
      const items = sets.map((set, i) => ({ payload: i, columns: { ...set, count: 100 + i, code: `item ${i}` } }));
      const answers = await wide.enqueueMany(db, spec, items);
      for (const [i, { id }] of answers.entries()) {
        const row = await referenceOf(db, { ...sets[i]!, count: 200 + i }, `of ${i}`);
        const [task] = await wide.getTask(db, id);
        assert.deepEqual([task?.payload, task?.columns], [i, { ...row, count: 100 + i, code: `item ${i}` }]);
      }
    },
  },
  {
    name: "your own columns are conditions of claim and listTasks",
    async run({ db }) {
      const spec = job();
      await wide.enqueueMany(db, spec, [
        { payload: 1, columns: { tenant, label: "a", at: new Date(1_000), huge: 5n, active: true, mood: "glad" } },
        { payload: 2, columns: { tenant, label: "b", at: new Date(2_000), huge: 6n, active: false } },
        { payload: 3, columns: { tenant, label: "b", at: new Date(3_000), huge: 7n, active: false, mood: "so so" } },
      ]);
      const { label, at, huge, active, mood } = wideTasks;
      const payloads = async (where: NonNullable<Parameters<typeof wide.listTasks>[1]>["where"]) => {
        return (await wide.listTasks(db, { queue: spec, where })).map(({ payload }) => payload);
      };
      assert.deepEqual(await payloads(eq(label, "b")), [3, 2]);
      assert.deepEqual(await payloads(gt(at, new Date(1_500))), [3, 2]);
      assert.deepEqual(await payloads(and(eq(huge, 6n), eq(active, false), isNull(mood))), [2]);
      const where = and(eq(label, "b"), eq(mood, "so so"), eq(wideTasks.tenant, tenant));
      const claimed = await wide.claim(db, spec, { limit: 5, where });
      assert.deepEqual(
        claimed.map(({ payload, columns }) => [payload, columns.mood]),
        [[3, "so so"]],
      );
    },
  },
  {
    name: "your own columns reach a ticker and a handler",
    async run({ db }) {
      const spec = ticker({ columns: { tenant, label: "of a ticker", at: new Date(5_000) } });
      const seen: unknown[] = [];
      const worker = createWorker({ db, pgqueue: wide, listen: false });
      worker.register(spec, ({ columns }) => void seen.push(columns));
      assert.equal(await worker.drain(), 1);
      const { count, ...row } = await referenceOf(db, { ...spec.columns, count: 300 }, "ticker");
      assert.deepEqual(seen, [{ ...row, count: null, code: null }]);
    },
  },
  {
    name: "arrays go in by enqueue and enqueueMany, and come back",
    async run({ db }) {
      const { tasks, queues } = pgqueueTables({
        prefix: "arrays_",
        columns: { tags: text("tags").array(), levels: integer("levels").array(), days: date("days").array() },
      });
      await create(db, { tasks, queues });
      const arrays = createPgqueue({ tasks, queues });
      const spec = job();
      const tags = ["a,b", 'c"d', "{e}", "", "null", "NULL", "f\\g", " h ", "it's", "ünïcødé"];
      const sets = [
        { tags, levels: [1, 2, -3], days: ["2026-01-02"] },
        { tags: [], levels: null, days: [] },
      ];
      const expected: unknown[] = [];
      for (const columns of sets) {
        await arrays.enqueue(db, spec, 1, { columns });
        await arrays.enqueueMany(db, spec, [{ payload: 1, columns }]);
        const [{ id } = { id: 0 }] = await db
          .insert(tasks)
          .values({ queue: "reference", payload: 1, ...columns })
          .returning({ id: tasks.id });
        const { tags, levels, days } = tasks;
        const [row] = await db.select({ tags, levels, days }).from(tasks).where(eq(tasks.id, id));
        expected.push(row, row);
      }
      assert.deepEqual(
        (await arrays.listTasks(db, { queue: spec })).map(({ columns }) => columns).toReversed(),
        expected,
      );
    },
  },
  {
    name: "a value too long for a column is refused, not cut",
    async run({ db }) {
      const spec = job();
      const columns = { tenant, code: "123456789" };
      await assert.rejects(wide.enqueue(db, spec, 1, { columns }));
      await assert.rejects(wide.enqueueMany(db, spec, [{ payload: 1, columns }]));
      assert.deepEqual(await wide.listTasks(db, { queue: spec }), []);
    },
  },
];
