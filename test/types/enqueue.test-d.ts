import type { Enqueued, EnqueueOptions, TaskStatus } from "pgqueue";
import { assertType, describe, expectTypeOf, test } from "vitest";
import { db, maybe, moment, payload, plain, receipt, shop, tenantTicker, ticker } from "./shop.ts";

describe("enqueue and enqueueMany", () => {
  test("answer the row and whether it is another's", async () => {
    const enqueued = await plain.enqueue(db, receipt, payload);
    expectTypeOf(enqueued).toEqualTypeOf<{ id: number; status: TaskStatus; deduplicated: boolean }>();
    expectTypeOf(enqueued).toEqualTypeOf<Enqueued>();
    const many = await plain.enqueueMany(db, receipt, [{ payload }, { payload, priority: 3 }]);
    expectTypeOf(many).toEqualTypeOf<Enqueued[]>();
  });

  test("take the schema's input, whatever is given", async () => {
    await plain.enqueue(db, moment, { at: "2027-01-01" });
    await plain.enqueueMany(db, moment, [{ payload: { at: "2027-01-01", n: 2 } }]);
    await plain.enqueueMany(
      db,
      receipt,
      [payload, payload].map((payload) => ({ payload, priority: 5 })),
    );
    // @ts-expect-error the output
    await plain.enqueue(db, moment, { at: new Date() });
    // @ts-expect-error the output
    await plain.enqueueMany(db, moment, [{ payload: { at: new Date() } }]);
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
    // @ts-expect-error excess field in an item
    await plain.enqueueMany(db, receipt, [{ payload: { orderId: 1, to: "x", extra: 1 } }]);
    // @ts-expect-error an item is not its payload
    await plain.enqueueMany(db, receipt, [payload]);
    // @ts-expect-error items are a list
    await plain.enqueueMany(db, receipt, { payload });
  });

  test("leave the payload to the spec, whatever is wider", async () => {
    const less = { orderId: 1 };
    const unknown: unknown = payload;
    // @ts-expect-error a field is missing
    await plain.enqueue(db, receipt, less);
    // @ts-expect-error anything at all
    await plain.enqueue(db, receipt, unknown);
    // @ts-expect-error a field is missing
    await plain.enqueueMany(db, receipt, [{ payload: less }]);
    // @ts-expect-error anything at all
    await plain.enqueueMany(db, receipt, [{ payload }, { payload: unknown }]);
  });

  test("take jobs alone", async () => {
    // @ts-expect-error a ticker is not enqueued
    await plain.enqueue(db, ticker, { cursor: 1 });
    // @ts-expect-error a ticker is not enqueued
    await plain.enqueueMany(db, ticker, [{ payload: { cursor: 1 } }]);
    // @ts-expect-error a queue is no spec
    await plain.enqueue(db, "receipt", payload);
  });

  test("take typed options", async () => {
    const options = { runAt: new Date(), priority: 9, maxRetries: 0, hash: null, meta: { trace: "t" } };
    await plain.enqueue(db, receipt, payload, options);
    await plain.enqueue(db, receipt, payload, { delay: "5m", hash: "h" });
    await plain.enqueue(db, receipt, payload, { delay: undefined, runAt: undefined, meta: undefined });
    // @ts-expect-error unknown option
    await plain.enqueue(db, receipt, payload, { prio: 1 });
    // @ts-expect-error bad duration
    await plain.enqueue(db, receipt, payload, { delay: "5 parsecs" });
    // @ts-expect-error a moment is a Date
    await plain.enqueue(db, receipt, payload, { runAt: "2027-01-01" });
    // @ts-expect-error a hash is text
    await plain.enqueue(db, receipt, payload, { hash: 1 });
    // @ts-expect-error meta is an object
    await plain.enqueue(db, receipt, payload, { meta: "trace" });
    // @ts-expect-error unknown option of an item
    await plain.enqueueMany(db, receipt, [{ payload, prio: 1 }]);
    assertType<EnqueueOptions>(options);
  });

  test("require columns where the user's are", async () => {
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: "t" } });
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: "t", orderId: 3, note: null }, priority: 3 });
    await shop.enqueueMany(db, receipt, [{ payload, columns: { tenantId: "t" } }]);
    // @ts-expect-error options are required
    await shop.enqueue(db, receipt, payload);
    // @ts-expect-error columns are required
    await shop.enqueue(db, receipt, payload, { priority: 1 });
    // @ts-expect-error tenantId is required
    await shop.enqueue(db, receipt, payload, { columns: { note: "n" } });
    // @ts-expect-error tenantId is not null
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: null } });
    // @ts-expect-error tenantId is text
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: 1 } });
    // @ts-expect-error unknown column
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: "t", nope: 1 } });
    // @ts-expect-error a column is not an option by itself
    await shop.enqueue(db, receipt, payload, { tenantId: "t" });
    // @ts-expect-error pgqueue's own column
    await shop.enqueue(db, receipt, payload, { columns: { tenantId: "t", status: "failed" } });
    // @ts-expect-error columns are required in each item
    await shop.enqueueMany(db, receipt, [{ payload, columns: { tenantId: "t" } }, { payload }]);
    // @ts-expect-error unknown column in an item
    await shop.enqueueMany(db, receipt, [{ payload, columns: { tenantId: "t", nope: 1 } }]);
    // @ts-expect-error wrong type in an item
    await shop.enqueueMany(db, receipt, [{ payload, columns: { tenantId: 1 } }]);
  });

  test("let columns be left out where all of the user's may, and refuse them where there are none", async () => {
    await maybe.enqueue(db, receipt, payload);
    await maybe.enqueue(db, receipt, payload, { priority: 1 });
    await maybe.enqueue(db, receipt, payload, { columns: { note: "n" } });
    await maybe.enqueue(db, receipt, payload, { columns: {} });
    await maybe.enqueueMany(db, receipt, [{ payload }, { payload, columns: { note: null } }]);
    // @ts-expect-error unknown column
    await maybe.enqueue(db, receipt, payload, { columns: { tenantId: "t" } });
    // @ts-expect-error unknown column in an item
    await maybe.enqueueMany(db, receipt, [{ payload, columns: { tenantId: "t" } }]);
    // @ts-expect-error no columns on the default tables
    await plain.enqueue(db, receipt, payload, { columns: { tenantId: "t" } });
    // @ts-expect-error no columns on the default tables
    await plain.enqueueMany(db, receipt, [{ payload, columns: { tenantId: "t" } }]);
  });
});

describe("upsertTicker", () => {
  test("answers as enqueue does", async () => {
    expectTypeOf(await plain.upsertTicker(db, ticker)).toEqualTypeOf<Enqueued>();
  });

  test("wants a ticker whose columns fit the table", async () => {
    await plain.upsertTicker(db, ticker);
    await shop.upsertTicker(db, tenantTicker);
    await maybe.upsertTicker(db, ticker);
    // @ts-expect-error the table wants a tenantId of each ticker
    await shop.upsertTicker(db, ticker);
    // @ts-expect-error a job
    await plain.upsertTicker(db, receipt);
  });
});
