import { eq, sql } from "drizzle-orm";
import { integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import {
  type Claimed,
  createPgqueue,
  defineJob,
  defineTicker,
  done,
  newClaimToken,
  type Outcome,
  type Pgqueue,
  pgqueueTables,
  retry,
  type Statement,
  type Task,
  type TaskStatus,
} from "pgqueue";
import * as v from "valibot";
import { assertType, describe, expectTypeOf, test } from "vitest";
import { z } from "zod";

const orders = pgTable("orders", { id: integer("id").primaryKey(), to: text("to").notNull() });
const { tasks, queues } = pgqueueTables({
  prefix: "shop_",
  columns: {
    tenantId: uuid("tenant_id").notNull(),
    orderId: integer("order_id"),
    note: text("note").default(""),
  },
});
const optional = pgqueueTables({ prefix: "maybe_", columns: { note: text("note") } });

const plain = createPgqueue(pgqueueTables());
const shop = createPgqueue({ tasks, queues });
const maybe = createPgqueue(optional);

const db = drizzle({ client: null as never });
const receipt = defineJob({ queue: "receipt", payload: v.object({ orderId: v.number(), to: v.string() }) });
const moment = defineJob({ queue: "moment", payload: z.object({ at: z.string().transform((s) => new Date(s)) }) });
const cursor = { payload: v.object({ cursor: v.number() }), initialPayload: { cursor: 0 }, every: "5m" } as const;
const ticker = defineTicker({ queue: "sync", key: "plain", ...cursor });
const tenantTicker = defineTicker({ queue: "sync", key: "tenant", ...cursor, columns: { tenantId: "t" } });

const payload = { orderId: 1, to: "x" };
const held: Claimed<{ orderId: number; to: string }> = null!;

describe("enqueue", () => {
  test("answers the row and whether it is another's", async () => {
    const enqueued = await plain.enqueue(db, receipt, payload);
    expectTypeOf(enqueued).toEqualTypeOf<{ id: number; status: TaskStatus; deduplicated: boolean }>();
    const many = await plain.enqueueMany(db, receipt, [{ payload }, { payload, priority: 3 }]);
    expectTypeOf(many).toEqualTypeOf<{ id: number; status: TaskStatus; deduplicated: boolean }[]>();
  });

  test("takes the schema's input", async () => {
    await plain.enqueue(db, moment, { at: "2027-01-01" });
    // @ts-expect-error the output
    await plain.enqueue(db, moment, { at: new Date() });
    // @ts-expect-error wrong type
    await plain.enqueue(db, receipt, { orderId: "1", to: "x" });
    // @ts-expect-error excess field
    await plain.enqueue(db, receipt, { orderId: 1, to: "x", extra: 1 });
    // @ts-expect-error missing field
    await plain.enqueue(db, receipt, { orderId: 1 });
    // @ts-expect-error no payload
    await plain.enqueue(db, receipt);
    // @ts-expect-error wrong type in an item
    await plain.enqueueMany(db, receipt, [{ payload }, { payload: { orderId: "1", to: "x" } }]);
    // @ts-expect-error an item is not its payload
    await plain.enqueueMany(db, receipt, [payload]);
  });

  test("takes jobs alone", async () => {
    // @ts-expect-error a ticker is not enqueued
    await plain.enqueue(db, ticker, { cursor: 1 });
    // @ts-expect-error a ticker is not enqueued
    await plain.enqueueMany(db, ticker, [{ payload: { cursor: 1 } }]);
  });

  test("options are typed", async () => {
    const options = { runAt: new Date(), priority: 9, maxRetries: 0, hash: null, meta: { trace: "t" } };
    await plain.enqueue(db, receipt, payload, options);
    await plain.enqueue(db, receipt, payload, { delay: "5m", hash: "h" });
    // @ts-expect-error unknown option
    await plain.enqueue(db, receipt, payload, { prio: 1 });
    // @ts-expect-error bad duration
    await plain.enqueue(db, receipt, payload, { delay: "5 parsecs" });
    // @ts-expect-error a moment is a Date
    await plain.enqueue(db, receipt, payload, { runAt: "2027-01-01" });
    // @ts-expect-error unknown option of an item
    await plain.enqueueMany(db, receipt, [{ payload, prio: 1 }]);
  });

  test("columns are required where the user's are", async () => {
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: "t" } });
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: "t", orderId: 3, note: null }, priority: 3 });
    await shop.enqueueMany(db, receipt, [{ payload, columns: { tenantId: "t" } }]);
    // @ts-expect-error options are required
    await shop.enqueue(db, receipt, payload);
    // @ts-expect-error columns are required
    await shop.enqueue(db, receipt, payload, { priority: 1 });
    // @ts-expect-error tenantId is required
    await shop.enqueue(db, receipt, payload, { columns: { note: "n" } });
    // @ts-expect-error tenantId is text
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: 1 } });
    // @ts-expect-error unknown column
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: "t", nope: 1 } });
    // @ts-expect-error pgqueue's own column
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: "t", status: "failed" } });
    // @ts-expect-error columns are required in each item
    await shop.enqueueMany(db, receipt, [{ payload, columns: { tenantId: "t" } }, { payload }]);
  });

  test("columns are optional where all of the user's are, and absent where there are none", async () => {
    await maybe.enqueue(db, receipt, payload);
    await maybe.enqueue(db, receipt, payload, { priority: 1 });
    await maybe.enqueue(db, receipt, payload, { columns: { note: "n" } });
    await maybe.enqueue(db, receipt, payload, { columns: {} });
    // @ts-expect-error unknown column
    await maybe.enqueue(db, receipt, payload, { columns: { tenantId: "t" } });
    // @ts-expect-error no columns on the default tables
    await plain.enqueue(db, receipt, payload, { columns: { tenantId: "t" } });
  });

  test("upsertTicker wants a ticker whose columns fit the table", async () => {
    await plain.upsertTicker(db, ticker);
    await shop.upsertTicker(db, tenantTicker);
    await maybe.upsertTicker(db, ticker);
    // @ts-expect-error the table wants a tenantId of each ticker
    await shop.upsertTicker(db, ticker);
    // @ts-expect-error a job
    await plain.upsertTicker(db, receipt);
  });
});

describe("claim", () => {
  test("gives payloads as stored, and the user's columns", async () => {
    const [plainly] = await plain.claim(db, receipt, { limit: 1 });
    expectTypeOf(plainly!).toEqualTypeOf<Claimed<{ orderId: number; to: string }, {}>>();
    const [task] = await shop.claim(db, moment, { limit: 1, workerId: "w", where: eq(tasks.tenantId, "t") });
    expectTypeOf(task!.payload).toEqualTypeOf<{ at: string }>();
    expectTypeOf(task!.columns).toEqualTypeOf<{ tenantId: string; orderId: number | null; note: string | null }>();
    const [tick] = await shop.claim(db, tenantTicker, { limit: 1 });
    expectTypeOf(tick!.payload).toEqualTypeOf<{ cursor: number }>();
  });

  test("options are typed", () => {
    plain.claim(db, receipt, { limit: 1, token: newClaimToken() });
    // @ts-expect-error options are required
    plain.claim(db, receipt);
    // @ts-expect-error limit is required
    plain.claim(db, receipt, {});
    // @ts-expect-error where must be SQL
    plain.claim(db, receipt, { limit: 1, where: { tenantId: 1 } });
    // @ts-expect-error unknown option
    plain.claim(db, receipt, { limit: 1, lease: "5m" });
    // @ts-expect-error any text is no token
    plain.claim(db, receipt, { limit: 1, token: "x" });
    // @ts-expect-error a queue is no spec
    plain.claim(db, "receipt", { limit: 1 });
  });
});

describe("the end of a claim", () => {
  test("takes one task or many", async () => {
    const claimed = await shop.claim(db, receipt, { limit: 10 });
    const ended = await shop.finalize(
      db,
      receipt,
      claimed.map((task) => ({ task, result: done() })),
    );
    expectTypeOf(ended).toEqualTypeOf<{ id: number }[]>();
    await shop.finalize(db, receipt, { task: held, result: retry(new Error()) });
    await shop.finalize(db, receipt, { task: held, result: done(), payload });
    expectTypeOf(await shop.finalizeOrThrow(db, receipt, { task: held, result: done() })).toEqualTypeOf<void>();
    expectTypeOf(await shop.release(db, receipt, claimed)).toEqualTypeOf<{ id: number }[]>();
    expectTypeOf(await shop.releaseClaim(db, receipt, newClaimToken())).toEqualTypeOf<{ id: number }[]>();
    expectTypeOf(await shop.markStarted(db, receipt, held)).toEqualTypeOf<{ id: number }[]>();
    expectTypeOf(await shop.extendLease(db, receipt, held, "10m")).toEqualTypeOf<{ id: number; leaseUntil: Date }[]>();
    expectTypeOf(await shop.heldBy(db, receipt, claimed)).toEqualTypeOf<
      { readonly id: number; readonly holding: "busy" | "lost" | "gone"; readonly status?: TaskStatus }[]
    >();
    expectTypeOf(await shop.reap(db, receipt)).toEqualTypeOf<{ id: number; status: TaskStatus }[]>();
    assertType<Outcome<{ orderId: number; to: string }>>({ task: held, result: done() });
  });

  test("takes claims alone", async () => {
    const row = (await db.select().from(pgqueueTables().tasks))[0]!;
    const [stored] = await plain.getTask(db, 1);
    // @ts-expect-error made up
    plain.finalize(db, receipt, { task: { id: 1, token: "x", payload }, result: done() });
    // @ts-expect-error a row of the table is not a claim
    plain.finalize(db, receipt, { task: row, result: done() });
    // @ts-expect-error nor is a task that was read
    plain.finalize(db, receipt, { task: stored!, result: done() });
    // @ts-expect-error nor is an id
    plain.release(db, receipt, 1);
    // @ts-expect-error nor is a claim with a token of one's own
    plain.release(db, receipt, { id: 1, queue: "receipt", token: "x", claims: 1 });
    // @ts-expect-error a row of the table is not a claim
    plain.extendLease(db, receipt, row);
  });

  test("takes the spec's own tasks", () => {
    const other: Claimed<{ at: string }> = null!;
    const own = { task: held, result: done() };
    // @ts-expect-error another spec's task
    plain.finalize(db, receipt, { task: other, result: done() });
    // @ts-expect-error another spec's task among one's own
    plain.finalize(db, receipt, [own, { task: other, result: done() }]);
    // @ts-expect-error another spec's task
    plain.finalizeOrThrow(db, receipt, { task: other, result: done() });
    // @ts-expect-error another spec's payload
    plain.finalize(db, receipt, { task: held, result: done(), payload: { at: "" } });
  });

  test("takes a result", () => {
    // @ts-expect-error no such result
    plain.finalize(db, receipt, { task: held, result: { type: "ok" } });
    // @ts-expect-error the function itself
    plain.finalize(db, receipt, { task: held, result: done });
    // @ts-expect-error no result
    plain.finalize(db, receipt, { task: held });
    // @ts-expect-error bad duration
    plain.extendLease(db, receipt, held, "10 minutes");
  });
});

describe("a statement is a Drizzle builder", () => {
  test("that has toSQL and getSQL", () => {
    const claim = plain.claim(db, receipt, { limit: 1 });
    expectTypeOf(claim.toSQL()).toEqualTypeOf<{ sql: string; params: unknown[] }>();
    expectTypeOf(claim).toEqualTypeOf<Statement<Claimed<{ orderId: number; to: string }, {}>>>();
  });

  test("that is a CTE of the user's own query, with typed columns", async () => {
    const claimed = db.$with("claimed").as(shop.claim(db, receipt, { limit: 1 }));
    const [row] = await db
      .with(claimed)
      .select({
        id: claimed.id,
        payload: claimed.payload,
        token: claimed.token,
        tenant: claimed.columns.tenantId,
        order: claimed.columns.orderId,
        to: orders.to,
      })
      .from(claimed)
      .innerJoin(orders, eq(orders.id, claimed.columns.orderId));
    expectTypeOf(row!.id).toEqualTypeOf<number>();
    expectTypeOf(row!.payload).toEqualTypeOf<{ orderId: number; to: string }>();
    expectTypeOf(row!.token).toExtend<string>();
    expectTypeOf(row!.tenant).toEqualTypeOf<string>();
    expectTypeOf(row!.order).toEqualTypeOf<number | null>();
    expectTypeOf(row!.to).toEqualTypeOf<string>();
    // @ts-expect-error no such column
    claimed.columns.nope;
    // @ts-expect-error no such field
    claimed.nope;
  });

  test("whichever it is", async () => {
    const ended = db.$with("ended").as(shop.finalize(db, receipt, { task: held, result: done() }));
    const reaped = db.$with("reaped").as(shop.reap(db, receipt));
    const enabled = db.$with("enabled").as(shop.enable(db, 1));
    const [row] = await db
      .with(ended, reaped, enabled)
      .select({ ended: ended.id, status: reaped.status, tenant: enabled.columns.tenantId })
      .from(ended)
      .crossJoin(reaped)
      .crossJoin(enabled);
    expectTypeOf(row!).toEqualTypeOf<{ ended: number; status: TaskStatus; tenant: string }>();
  });
});

describe("operating on tasks", () => {
  test("gives rows with the user's columns", async () => {
    type Row = Task<{ tenantId: string; orderId: number | null; note: string | null }>;
    expectTypeOf(await shop.enable(db, 1)).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.disable(db, 1)).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.requeue(db, 1, new Date())).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.getTask(db, 1)).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.listTasks(db)).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.replacePayload(db, receipt, 1, payload)).toEqualTypeOf<Row | undefined>();
    expectTypeOf<Task>().not.toHaveProperty("token");
  });

  test("a queue is named by its name or by a spec", () => {
    plain.pauseQueue(db, "receipt");
    plain.resumeQueue(db, receipt);
    plain.listTasks(db, { queue: ticker, status: "failed", kind: "ticker", where: sql`true`, before: 9, limit: 20 });
    plain.purge(db, { queue: receipt, status: "completed", olderThan: "1d", limit: 1_000 });
    // @ts-expect-error a number
    plain.pauseQueue(db, 1);
    // @ts-expect-error no such status
    plain.listTasks(db, { status: "done" });
    // @ts-expect-error running tasks are not purged
    plain.purge(db, { queue: receipt, status: "running", olderThan: "1d", limit: 1_000 });
    // @ts-expect-error a purge is bounded
    plain.purge(db, { queue: receipt, status: "completed", olderThan: "1d" });
    // @ts-expect-error an id is a number
    plain.enable(db, "1");
    // @ts-expect-error wrong payload
    plain.replacePayload(db, receipt, 1, { orderId: "1", to: "x" });
  });

  test("statements on default tables are no statements on tables with columns", () => {
    assertType<Pgqueue>(plain);
    // @ts-expect-error enqueue of the shop wants columns
    assertType<Pgqueue>(shop);
  });
});
