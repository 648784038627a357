import assert from "node:assert/strict";
import { sql } from "drizzle-orm";
import { done, type JobSpec, parsePayload } from "pgqueue";
import type { Case } from "../case.ts";
import type { Database } from "../driver.ts";
import { rowsOf } from "../rows.ts";
import { claimOne, job, makeDue, pgqueue, tasks, ticker } from "../shop.ts";

const { claim, enqueue, enqueueMany, finalize, getTask, listTasks, replacePayload, upsertTicker } = pgqueue;

/** What some driver or Drizzle's own jsonb changes on the way, and what looks as if it might be. */
const values: readonly unknown[] = [
  '{"a":1}',
  "[1,2]",
  "null",
  "true",
  "12",
  '"quoted"',
  "",
  " ",
  "it's \\ back\\\\slash ' '' $1 :name ?? % _ --",
  "\u0001\u001f\u007f\t\r\n\u2028\u2029\ufeff",
  "ünïcødé 你好 עברית \u{1f600}\u{1f468}\u200d\u{1f469}",
  "2026-01-02T03:04:05.678Z",
  "\\u0000",
  "x".repeat(20_000),
  true,
  false,
  null,
  0,
  1,
  -1.5,
  0.1,
  1e21,
  5e-324,
  1.7976931348623157e308,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  2 ** 63,
  123_456_789_012_345_680_000,
  [],
  {},
  [null],
  [[], {}, [[["deep"]]], '{"a":1}', true, null, 1e21],
  { "": 0, "a.b": { 'c"': "[1]" }, "\u{1f600}": null, $1: "$1", constructor: 1, length: [] },
  Array.from({ length: 300 }, (_, i) => ({ i, text: `item ${i}` })),
];

async function claimAll(db: Database, spec: JobSpec<any, any>): Promise<Map<number, unknown>> {
  const claimed = await claim(db, spec, { limit: 1_000 });
  return new Map(claimed.map((task) => [task.id, task.payload]));
}

export const payloadCases: readonly Case[] = [
  {
    name: "a payload comes back exactly from an insert of your own into the table",
    async run({ db }) {
      const { queue } = job();
      const inserted = await db
        .insert(tasks)
        .values(values.filter((value) => value !== null).map((payload) => ({ queue, payload })))
        .returning({ payload: tasks.payload });
      assert.deepEqual(
        inserted.map(({ payload }) => payload),
        values.filter((value) => value !== null),
      );
    },
  },
  {
    name: "a payload comes back exactly: enqueue, getTask, claim, parsePayload",
    async run({ db }) {
      const spec = job();
      const given = new Map<number, unknown>();
      for (const value of values) given.set((await enqueue(db, spec, value)).id, value);
      for (const [id, value] of given) assert.deepEqual((await getTask(db, id))[0]?.payload, value);
      const claimed = await claim(db, spec, { limit: 1_000 });
      assert.equal(claimed.length, values.length);
      for (const task of claimed) {
        assert.deepEqual(task.payload, given.get(task.id));
        assert.deepEqual(parsePayload(spec, task), given.get(task.id));
      }
    },
  },
  {
    name: "a payload comes back exactly: enqueueMany, listTasks, claim",
    async run({ db }) {
      const spec = job();
      const answers = await enqueueMany(
        db,
        spec,
        values.map((payload) => ({ payload })),
      );
      const listed = await listTasks(db, { queue: spec, limit: 1_000 });
      assert.deepEqual(
        listed.map(({ payload }) => payload),
        values.toReversed(),
      );
      const claimed = await claimAll(db, spec);
      assert.deepEqual(
        answers.map(({ id }) => claimed.get(id)),
        values,
      );
    },
  },
  {
    name: "a payload comes back exactly: enqueue and enqueueMany with a hash, replacePayload",
    async run({ db }) {
      const spec = job();
      const given: unknown[] = [];
      for (const [i, value] of values.entries()) {
        const one = await enqueue(db, spec, value, { hash: `one ${i}` });
        const [many] = await enqueueMany(db, spec, [{ payload: value, hash: `many ${i}` }]);
        const { id } = await enqueue(db, spec, "first");
        assert.deepEqual((await replacePayload(db, spec, id, value))?.payload, value);
        assert.deepEqual([one.deduplicated, many?.deduplicated], [false, false]);
        given.push(value, value, value);
      }
      assert.deepEqual([...(await claimAll(db, spec)).entries()].sort(byId).map(second), given);
    },
  },
  {
    name: "a payload is one JSON document in the table, not a text of one",
    async run({ db }) {
      const spec = job();
      const kinds = ['{"a":1}', true, null, 7, [1], { a: 1 }];
      for (const value of kinds) await enqueue(db, spec, value, { meta: { value } });
      await enqueueMany(
        db,
        spec,
        kinds.map((payload) => ({ payload, meta: { value: payload } })),
      );
      const rows = await rowsOf(
        db,
        sql`select jsonb_typeof(payload) as payload, jsonb_typeof(meta) as meta, jsonb_typeof(meta -> 'value') as value
          from ${tasks} where queue = ${spec.queue} order by id`,
      );
      const types = ["string", "boolean", "null", "number", "array", "object"];
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [...types, ...types].map((type) => ({ payload: type, meta: "object", value: type })),
      );
    },
  },
  {
    name: "minus zero is stored as zero",
    async run({ db }) {
      const spec = job();
      await enqueue(db, spec, [-0]);
      await enqueueMany(db, spec, [{ payload: [-0] }]);
      const claimed = await claim(db, spec, { limit: 2 });
      for (const { payload } of claimed) assert(Object.is(payload[0], 0));
    },
  },
  {
    name: "meta, output and errors come back exactly",
    async run({ db }) {
      const spec = job();
      for (const value of values) {
        const { id } = await enqueue(db, spec, 1, { meta: { value } });
        const task = await claimOne(db, spec);
        assert.deepEqual(task.meta, { value });
        await finalize(db, spec, { task, result: done(value) });
        const [row] = await getTask(db, id);
        assert.deepEqual([row?.meta, row?.output], [{ value }, value]);
      }
    },
  },
  {
    name: "a ticker's payload comes back exactly, as given first and as changed",
    async run({ db }) {
      for (const value of values) {
        const spec = ticker({ initialPayload: value, every: 1 });
        await upsertTicker(db, spec);
        const task = await claimOne(db, spec);
        assert.deepEqual(task.payload, value);
        await finalize(db, spec, { task, result: done(), payload: [value] });
        await makeDue(db, spec);
        assert.deepEqual((await claimOne(db, spec)).payload, [value]);
      }
    },
  },
];

function byId(a: [number, unknown], b: [number, unknown]): number {
  return a[0] - b[0];
}

function second<T>([, value]: [unknown, T]): T {
  return value;
}
