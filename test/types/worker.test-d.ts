import {
  type Context,
  createWorker,
  done,
  fail,
  type Handler,
  type Job,
  type PayloadOf,
  pgqueueTables,
  retry,
  skip,
  type WorkerEvent,
} from "pgqueue";
import { describe, expectTypeOf, test } from "vitest";
import { db, moment, plain, receipt, type ShopColumns, shop, tenantTicker, ticker } from "./shop.ts";

describe("a handler", () => {
  test("gets the schema's output and the user's columns", () => {
    const worker = createWorker({ db, pgqueue: shop });
    worker.register(moment, (job, context) => {
      expectTypeOf(job.payload).toEqualTypeOf<{ at: Date; n: number }>();
      expectTypeOf(job.columns).toEqualTypeOf<ShopColumns>();
      expectTypeOf(job).toEqualTypeOf<Job<{ at: Date; n: number }, ShopColumns>>();
      expectTypeOf(job.maxRetries).toEqualTypeOf<number>();
      expectTypeOf(context).toEqualTypeOf<Context>();
      expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
    });
    // @ts-expect-error no such column
    worker.register(receipt, (job) => job.columns.nope);
    // @ts-expect-error no such field
    worker.register(receipt, (job) => void job.payload.nope);
    createWorker({ db, pgqueue: plain }).register(receipt, (job) => {
      expectTypeOf(job.columns).toEqualTypeOf<{}>();
    });
  });

  test("is of the spec's payload, if it was written apart", () => {
    const worker = createWorker({ db, pgqueue: plain });
    const own: Handler<PayloadOf<typeof receipt>> = (job) => void job.payload.orderId;
    const less: Handler<{ orderId: number }> = own as Handler<any>;
    const other: Handler<{ cursor: number }> = (job) => void job.payload.cursor;
    const any: Handler = (job) => void job.id;
    worker.register(receipt, own).register(receipt, less).register(receipt, any);
    // @ts-expect-error another spec's handler
    worker.register(receipt, other);
    // @ts-expect-error the input, where the output is handled
    worker.register(moment, other as unknown as Handler<{ at: string }>);
  });

  test("may change the payload and nothing else", () => {
    createWorker({ db, pgqueue: plain }).register(ticker, (job) => {
      job.payload.cursor += 1;
      job.payload = { cursor: 5 };
      // @ts-expect-error read only
      job.attempt = 1;
      // @ts-expect-error another type
      job.payload = { cursor: "5" };
    });
  });

  test("returns a result or nothing", () => {
    const worker = createWorker({ db, pgqueue: plain });
    worker
      .register(receipt, () => {})
      .register(receipt, async () => {})
      .register(receipt, () => done({ sent: 1 }))
      .register(receipt, async (job) => (job.attempt > 1 ? fail("no") : retry(new Error())))
      .register(ticker, async () => skip("later"));
    // @ts-expect-error text is no result
    worker.register(receipt, () => "done");
    // @ts-expect-error nor is a promise of text
    worker.register(receipt, async () => "done");
    // @ts-expect-error nor is null
    worker.register(receipt, () => null);
    // @ts-expect-error the function itself
    worker.register(receipt, () => done);
  });

  test("may end its task in a transaction of its own", () => {
    createWorker({ db, pgqueue: plain }).register(receipt, async (_job, ctx) => {
      await ctx.extendLease("10m");
      await db.transaction(async (tx) => {
        await ctx.finalize(tx, done());
        // @ts-expect-error no result
        await ctx.finalize(tx);
      });
    });
  });
});

describe("a worker", () => {
  test("takes a ticker whose columns fit the table", () => {
    createWorker({ db, pgqueue: plain }).register(ticker, () => {});
    createWorker({ db, pgqueue: shop }).register(tenantTicker, (job) => {
      expectTypeOf(job.columns.tenantId).toEqualTypeOf<string>();
    });
    // @ts-expect-error the table wants a tenantId of each ticker
    createWorker({ db, pgqueue: shop }).register(ticker, () => {});
  });

  test("options are typed", () => {
    createWorker({ db, pgqueue: plain, concurrency: 5, workerId: "w", listen: false, reapInterval: "1m" });
    createWorker({
      db,
      pgqueue: plain,
      onEvent: (event) => {
        expectTypeOf(event).toEqualTypeOf<WorkerEvent>();
      },
    });
    // @ts-expect-error pgqueue is required
    createWorker({ db });
    // @ts-expect-error db is required
    createWorker({ pgqueue: plain });
    // @ts-expect-error unknown option
    createWorker({ db, pgqueue: plain, concurency: 5 });
    // @ts-expect-error tables are no statements
    createWorker({ db, pgqueue: pgqueueTables() });
  });

  test("run and stop take options", async () => {
    const worker = createWorker({ db, pgqueue: plain });
    await worker.run({ signal: new AbortController().signal });
    await worker.stop({ timeout: "5s" });
    expectTypeOf(worker.drain()).resolves.toEqualTypeOf<number>();
    // @ts-expect-error bad duration
    await worker.stop({ timeout: "5 seconds" });
  });
});
