import { sql } from "drizzle-orm";
import {
  bit,
  boolean,
  char,
  customType,
  date,
  doublePrecision,
  integer,
  interval,
  jsonb,
  numeric,
  pgSchema,
  serial,
  text,
  timestamp,
  uuid,
  varchar,
} from "drizzle-orm/pg-core";
import { afterAll, describe, expect, test } from "vitest";
import { createPgqueue, OptionsError, PayloadError, pgqueueTables } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, idsOf, job, pgqueue, rowOf, ticker } from "./jobs.ts";
import { listening, recorded } from "./recorder.ts";
import { begin, impatient, sqlState } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db } = database;
afterAll(database.end);
const { enqueue, enqueueMany } = pgqueue;

const hashed = (options = {}) => job({ hash: (p) => p.hash, ...options });
const items = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: i as unknown }));

describe("the answers", () => {
  test("come in the order of the items where ids count down", async () => {
    const { db, end } = await createDatabase({ migrated: true });
    await db.execute(sql`alter table pgqueue_tasks alter id
      set increment by -1 set minvalue 1 set maxvalue 50000 set start 50000 restart`);
    // In several statements.
    const answers = await enqueueMany(db, job(), items(12_000));
    expect(answers.map(({ id }) => id)).toEqual(Array.from(items(12_000), (_, i) => 50_000 - i));
    for (const place of [0, 1, 4_999, 5_000, 11_999]) {
      expect(await rowOf(db, answers[place]!.id)).toMatchObject({ payload: place });
    }
    await end();
  });

  test("come in the order of the items, with and without hashes", async () => {
    const spec = hashed();
    const hashes = ["m", null, "c", "z", null, "é", "Z", "a", null, "A", "_", "10", "9"];
    const answers = await enqueueMany(
      db,
      spec,
      hashes.map((hash, i) => ({ payload: { hash, i } })),
    );
    expect(answers.map(({ status, deduplicated }) => [status, deduplicated])).toEqual(
      hashes.map(() => ["pending", false]),
    );
    for (const [i, { id }] of answers.entries()) {
      expect(await rowOf(db, id)).toMatchObject({ payload: { i }, hash: hashes[i], hashHeld: hashes[i] !== null });
    }
  });

  test("say of equal hashes in one batch that they share the first one's row", async () => {
    for (const dedup of ["retained", "active"] as const) {
      const spec = hashed({ dedup });
      const [a, b, again, none, alsoNone, third] = await enqueueMany(
        db,
        spec,
        ["a", "b", "a", null, null, "a"].map((hash, i) => ({ payload: { hash, i } })),
      );
      expect(again).toEqual({ ...a, deduplicated: true });
      expect(third).toEqual({ ...a, deduplicated: true });
      expect([a, b, none, alsoNone].map((answer) => answer?.deduplicated)).toEqual([false, false, false, false]);
      expect(await idsOf(db, spec)).toHaveLength(4);
      expect((await rowOf(db, a!.id)).payload).toEqual({ hash: "a", i: 0 });
    }
  });

  test("tell the holders of hashes that are there already", async () => {
    for (const dedup of ["retained", "active"] as const) {
      const spec = hashed({ dedup });
      const holder = await enqueue(db, spec, { hash: "held" });
      await claimAll(db, spec);
      const answers = await enqueueMany(
        db,
        spec,
        ["x", "held", "y", "held"].map((hash) => ({ payload: { hash } })),
      );
      const held = { id: holder.id, status: "running", deduplicated: true };
      expect(answers).toEqual([
        { id: expect.any(Number), status: "pending", deduplicated: false },
        held,
        { id: expect.any(Number), status: "pending", deduplicated: false },
        held,
      ]);
    }
  });

  test("active: what ended holds nothing", async () => {
    const spec = hashed({ dedup: "active" });
    const { id } = await enqueue(db, spec, { hash: "a" });
    await pgqueue.finalize(db, spec, { task: (await claimAll(db, spec))[0]!, result: { type: "done" } });
    const [answer] = await enqueueMany(db, spec, [{ payload: { hash: "a" } }]);
    expect(answer).toMatchObject({ deduplicated: false });
    expect(answer?.id).not.toBe(id);
  });

  test("are none for no items, and no statement is sent", async () => {
    const { db, statements } = recorded(database);
    expect(await enqueueMany(db, job(), [])).toEqual([]);
    expect(statements).toEqual([]);
  });
});

describe("options of an item", () => {
  test("are stored", async () => {
    const runAt = new Date("2031-05-06T07:08:09.123Z");
    const answers = await enqueueMany(db, hashed(), [
      { payload: null, runAt, priority: 9, maxRetries: 0, hash: "h", meta: { a: [null] } },
      { payload: { hash: "k" }, delay: "1h", maxRetries: -1, hash: null },
      { payload: { hash: "k" } },
    ]);
    const rows = await Promise.all(answers.map(({ id }) => rowOf(db, id)));
    expect(rows[0]).toMatchObject({
      payload: null,
      runAt,
      priority: 9,
      maxRetries: 0,
      hash: "h",
      meta: { a: [null] },
      status: "pending",
      attempt: 0,
      claims: 0,
    });
    expect(rows[1]).toMatchObject({ priority: 0, maxRetries: null, hash: null, hashHeld: false, meta: null });
    expect(rows[1]!.runAt.getTime() - rows[1]!.createdAt.getTime()).toBe(3_600_000);
    expect(rows[2]).toMatchObject({ hash: "k", hashHeld: true });
    expect(rows[2]!.runAt).toEqual(rows[2]!.createdAt);
  });

  test("a root null stays JSON, and strange texts stay what they are", async () => {
    const payloads = [null, true, 0, "", "null", '{"a":1}', [], "$1", "?", "'", "\\", "\\u0041", { $1: "%s" }];
    const spec = job();
    await enqueueMany(
      db,
      spec,
      payloads.map((payload) => ({ payload })),
    );
    expect((await claimAll(db, spec)).map(({ payload }) => payload)).toStrictEqual(payloads);
    const [row] = await db.execute(sql`select count(*)::int as nulls from pgqueue_tasks where payload = 'null'`);
    expect(row?.nulls).toBeGreaterThan(0);
  });

  test("a delay counts from the statement, not from the start of the transaction", async () => {
    const { tx, rollback } = await begin(db);
    await tx.execute(sql`select pg_sleep(0.2)`);
    const spec = job();
    await enqueueMany(tx, spec, [{ payload: 1, delay: "1h" }, { payload: 2 }]);
    const rows = await tx.execute(sql`
      select extract(epoch from run_at - now())::float8 as after from pgqueue_tasks
      where queue = ${spec.queue} order by id`);
    expect(rows[0]?.after).toBeGreaterThanOrEqual(3_600.2);
    expect(rows[1]?.after).toBeGreaterThanOrEqual(0.2);
    expect(rows[1]?.after).toBeLessThan(3_600);
    await rollback();
  });

  test.each<[item: object, expected: object]>([
    [{ payload: 1n }, { path: "enqueueMany[2].payload" }],
    [{ payload: [{ at: 1n }] }, { path: "enqueueMany[2].payload[0].at" }],
    [{ payload: 1, meta: { trace: 1n } }, { path: "enqueueMany[2].meta.trace" }],
    [{}, { field: "enqueueMany[2].payload" }],
    [{ payload: undefined }, { path: "enqueueMany[2].payload" }],
    [{ orderId: 1 }, { field: "enqueueMany[2].payload" }],
    [null as never, { field: "enqueueMany[2]" }],
    [{ payload: 1, priority: -1 }, { field: "enqueueMany[2].priority" }],
    [{ payload: 1, hash: "" }, { field: "enqueueMany[2].hash" }],
    [{ payload: 1, delay: "1s", runAt: new Date() }, { field: "enqueueMany[2].delay" }],
    [{ payload: 1, colour: "red" }, { field: "enqueueMany[2].colour" }],
    [{ payload: 1, columns: { nope: 1 } }, { field: "enqueueMany[2].columns.nope" }],
  ])("%o is refused before any SQL, with all its batch", async (item, expected) => {
    const { db, statements } = recorded(database);
    const spec = job();
    await expect(enqueueMany(db, spec, [...items(2), item as { payload: unknown }])).rejects.toMatchObject(expected);
    expect(statements).toEqual([]);
    expect(await idsOf(db, spec)).toEqual([]);
  });

  test("a list that is none, and a ticker's spec, are refused", async () => {
    await expect(enqueueMany(db, job(), { payload: 1 } as never)).rejects.toThrow(OptionsError);
    await expect(enqueueMany(db, ticker() as never, [])).rejects.toThrow(OptionsError);
  });
});

describe("many", () => {
  test("over 5,000 rows take several statements, and still one answer an item", async () => {
    const { db, statements } = recorded(database);
    const spec = hashed();
    const answers = await enqueueMany(
      db,
      spec,
      Array.from({ length: 10_001 }, (_, i) => ({ payload: { i, hash: i % 2 ? `h${i % 5_003}` : null } })),
    );
    expect(statements.filter((text) => text.includes("insert into")).length).toBeGreaterThanOrEqual(2);
    const rows = await db.execute<{ id: string; i: number; hash: string | null }>(sql`
      select id, (payload ->> 'i')::int as i, hash from pgqueue_tasks where queue = ${spec.queue}`);
    const rowOfId = new Map(rows.map((row) => [Number(row.id), row]));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(rows.length);
    for (const [i, { id, deduplicated }] of answers.entries()) {
      const row = rowOfId.get(id)!;
      expect(row.hash).toBe(i % 2 ? `h${i % 5_003}` : null);
      expect(row.i === i).toBe(!deduplicated);
    }
  });

  test("over 8 MB take several statements", async () => {
    const { db, statements } = recorded(database);
    const spec = job();
    const payload = "x".repeat(3_000_000);
    await enqueueMany(
      db,
      spec,
      Array.from({ length: 5 }, () => ({ payload })),
    );
    expect(statements.filter((text) => text.includes("insert into"))).toHaveLength(3);
    expect(await idsOf(db, spec)).toHaveLength(5);
  });

  test("are all inserted or none, also over several statements", async () => {
    const other = await createDatabase({ migrated: true });
    await other.client`alter table pgqueue_tasks add constraint picky check (payload <> '6000')`;
    const spec = job();
    expect(await sqlState(enqueueMany(other.db, spec, items(6_001)))).toBe("23514");
    expect(await idsOf(other.db, spec)).toEqual([]);
    expect(await enqueueMany(other.db, spec, items(5_999))).toHaveLength(5_999);
    await other.end();
  });

  test("are exactly as atomic as the caller's transaction", async () => {
    const spec = job();
    const { tx, rollback } = await begin(db);
    await enqueueMany(tx, spec, items(6_000));
    await rollback();
    expect(await idsOf(db, spec)).toEqual([]);
    await db.transaction((tx) => enqueueMany(tx, spec, items(6_000)));
    expect(await idsOf(db, spec)).toHaveLength(6_000);
  });

  test("are announced once a statement, and not where none of them is due", async () => {
    const notified = await listening(database);
    const spec = job();
    await enqueueMany(db, spec, items(100));
    expect(await notified.all()).toEqual([spec.queue]);
    await enqueueMany(
      db,
      spec,
      items(10).map((item) => ({ ...item, delay: "1h" })),
    );
    await enqueueMany(
      db,
      spec,
      items(10).map((item) => ({ ...item, runAt: new Date(Date.now() + 86_400_000) })),
    );
    expect(await notified.all()).toEqual([]);
    await enqueueMany(db, spec, [
      { payload: 1, delay: "1h" },
      { payload: 2, runAt: new Date(0) },
    ]);
    expect(await notified.all()).toEqual([spec.queue]);
    await notified.unlisten();
  });
});

describe("the user's own columns", () => {
  const app = pgSchema("app");
  const mood = app.enum("mood", ["sad", "it's ok", "happy"]);
  const varyingCharacters = customType<{ data: string }>({ dataType: () => "character varying(5)" });
  const bytea = customType<{ data: Buffer }>({ dataType: () => "bytea" });
  const { tasks, queues } = pgqueueTables({
    schema: app,
    columns: {
      tenantId: uuid("tenant_id").notNull(),
      price: numeric("price", { precision: 30, scale: 10 }),
      seenAt: timestamp("seen_at"),
      seenAtTz: timestamp("seen_at_tz", { withTimezone: true, precision: 3 }),
      day: date("day"),
      active: boolean("active"),
      tags: text("tags").array(),
      grid: integer("grid").array().array(),
      settings: jsonb("settings"),
      mood: mood("mood"),
      moods: mood("moods").array(),
      blob: bytea("blob"),
      ratio: doublePrecision("ratio"),
      wait: interval("wait"),
      short: varchar("short", { length: 5 }),
      shorts: varchar("shorts", { length: 3 }).array(),
      code: char("code", { length: 3 }),
      label: varyingCharacters("label"),
      bits: bit("bits", { dimensions: 3 }),
      documents: jsonb("documents").array(),
      number: serial("number"),
      source: text("source").$defaultFn(() => "made by $defaultFn"),
      "odd name": text(),
      defaulted: text("defaulted").notNull().default("by Postgres"),
    },
  });
  const own = createPgqueue({ tasks, queues });
  const columnsDdl = `
    alter table app.pgqueue_tasks
      add column tenant_id uuid not null, add column price numeric(30, 10), add column seen_at timestamp,
      add column seen_at_tz timestamptz(3), add column day date, add column active boolean, add column tags text[],
      add column grid int[], add column settings jsonb, add column mood app.mood, add column moods app.mood[],
      add column blob bytea, add column ratio float8, add column wait interval, add column short varchar(5), add column shorts varchar(3)[],
      add column code char(3), add column label varchar(5), add column bits bit(3),
      add column documents jsonb[], add column number serial, add column source text, add column "odd name" text,
      add column defaulted text not null default 'by Postgres'`;
  const withOwnColumns = async () => {
    const other = await createDatabase({ migrated: true });
    await other.client.unsafe(`
      create schema app; create type app.mood as enum ('sad', 'it''s ok', 'happy');
      alter table pgqueue_tasks set schema app; alter table pgqueue_queues set schema app; ${columnsDdl}`);
    return other;
  };

  const tenantId = crypto.randomUUID();
  const full = {
    tenantId,
    price: "12345678901234567890.0123456789",
    seenAt: new Date("2026-03-29T01:30:00.123Z"),
    seenAtTz: new Date("2026-03-29T01:30:00.123Z"),
    day: "2024-02-29",
    active: false,
    tags: ["a", "", "NULL", "it's", '"q"', "a,b", "{c}", "\\", "$1"],
    grid: [
      [1, 2],
      [3, 4],
    ],
    settings: { a: "1", b: [null, true, "x"] },
    mood: "it's ok",
    moods: ["happy", "it's ok"],
    blob: Buffer.from([0, 1, 255, 92, 39]),
    ratio: 0.1 + 0.2,
    wait: "1 day 02:03:04",
    short: "five5",
    shorts: ["abc", "", "d,e"],
    code: "abc",
    label: "five5",
    bits: "101",
    documents: [{ a: 1 }, "five", [true]],
    number: 4711,
    source: "given",
    "odd name": "yes",
    defaulted: "by me",
  } satisfies typeof tasks.$inferInsert extends infer I ? Partial<I> : never;

  test("of many types are stored exactly, as by enqueue", async () => {
    const other = await withOwnColumns();
    const spec = job();
    const bare = { tenantId };
    await own.enqueueMany(other.db, spec, [
      { payload: 0, columns: full },
      { payload: 1, columns: bare },
      { payload: 2, columns: { ...full, price: null, tags: null, settings: null, mood: null, active: true } },
    ]);
    await own.enqueue(other.db, spec, 3, { columns: full });
    const claimed = await own.claim(other.db, spec, { limit: 4 });
    const columnsOf = claimed.sort((a, b) => Number(a.payload) - Number(b.payload)).map(({ columns }) => columns);
    expect(columnsOf[0]).toEqual(full);
    expect(columnsOf[1]).toMatchObject({
      tenantId,
      price: null,
      source: "made by $defaultFn",
      defaulted: "by Postgres",
      "odd name": null,
      number: expect.any(Number),
    });
    expect(columnsOf[2]).toEqual({ ...full, price: null, tags: null, settings: null, mood: null, active: true });
    expect(columnsOf[3]).toEqual(columnsOf[0]);
    await other.end();
  });

  test("that do not fit are refused by Postgres, never cut short", async () => {
    const other = await withOwnColumns();
    const cases: [object, string][] = [
      [{ short: "too long" }, "22001"],
      [{ shorts: ["abc", "abcd"] }, "22001"],
      [{ code: "abcd" }, "22001"],
      [{ label: "too long" }, "22001"],
      [{ bits: "1" }, "22026"],
      [{ price: "123456789012345678901" }, "22003"],
      [{ mood: "angry" }, "22P02"],
    ];
    for (const [columns, code] of cases) {
      const options = { columns: { tenantId, ...columns } };
      expect(await sqlState(own.enqueue(other.db, job(), 1, options))).toBe(code);
      expect(await sqlState(own.enqueueMany(other.db, job(), [{ payload: 1, ...options }]))).toBe(code);
    }
    await other.end();
  });

  test("of floating point may be infinite, or no number", async () => {
    const other = await withOwnColumns();
    const spec = job();
    const ratios = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324, 1.7976931348623157e308];
    const items = ratios.map((ratio, payload) => ({ payload, columns: { tenantId, ratio } }));
    await own.enqueueMany(other.db, spec, items);
    const claimed = await own.claim(other.db, spec, { limit: 9 });
    const read = claimed.toSorted((a, b) => a.id - b.id).map(({ columns }) => columns.ratio);
    expect(read).toEqual(ratios);
    await other.end();
  });

  test("are refused as null where the table does, before any SQL", async () => {
    const other = await withOwnColumns();
    const columns = { tenantId: null as never };
    const expected = (call: string) => ({ name: "OptionsError", field: `${call}.columns.tenantId` });
    await expect(own.enqueue(other.db, job(), 1, { columns })).rejects.toMatchObject(expected("enqueue"));
    await expect(own.enqueueMany(other.db, job(), [{ payload: 1, columns }])).rejects.toMatchObject(
      expected("enqueueMany[0]"),
    );
    await other.end();
  });

  test("may be SQL one by one, and are refused as SQL in a batch", async () => {
    const other = await withOwnColumns();
    const columns = { tenantId: sql`gen_random_uuid()` as never };
    await own.enqueue(other.db, job(), 1, { columns });
    await expect(own.enqueueMany(other.db, job(), [{ payload: 1, columns }])).rejects.toMatchObject({
      field: "enqueueMany[0].columns.tenantId",
    });
    await other.end();
  });
});

test("a refused payload leaves the caller's transaction as it was", async () => {
  const spec = job();
  await db.transaction(async (tx) => {
    await expect(enqueueMany(tx, spec, [...items(3), { payload: Number.NaN }])).rejects.toThrow(PayloadError);
    await enqueueMany(tx, spec, items(2));
  });
  expect(await idsOf(db, spec)).toHaveLength(2);
});
