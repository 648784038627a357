import { sql } from "drizzle-orm";
import { boolean, customType, integer, jsonb, pgEnum, text, timestamp, uuid } from "drizzle-orm/pg-core";
import {
  createPgqueue,
  createWorker,
  defineTicker,
  type ExtraInsert,
  type ExtraSelect,
  type Handler,
  type PayloadOf,
  type Pgqueue,
  pgqueueTables,
  type TasksTable,
  type Worker,
  type WorkerOf,
} from "pgqueue";
import { assertType, describe, expectTypeOf, test } from "vitest";
import { cursor, db, maybe, orders, payload, plain, receipt, type ShopColumns, shop, type tasks } from "./shop.ts";

const mood = pgEnum("mood", ["sad", "happy"]);
const point = customType<{ data: { x: number; y: number }; driverData: string }>({ dataType: () => "point" });

const rich = pgqueueTables({
  prefix: "rich_",
  columns: {
    required: uuid().notNull(),
    withDefault: text("with_default").notNull().default("x"),
    madeHere: text("made_here")
      .notNull()
      .$defaultFn(() => "x"),
    nullable: integer("nullable"),
    branded: text("branded").$type<"a" | "b">(),
    mood: mood("mood"),
    place: point("place"),
    settings: jsonb("settings").$type<{ dark: boolean }>(),
    at: timestamp("at", { withTimezone: true }),
    day: timestamp("day", { mode: "string" }),
    kindOf: text("kind_of", { enum: ["x", "y"] }).notNull(),
    flags: boolean("flags").array(),
    total: integer("total").generatedAlwaysAs(sql`1`),
    number: integer("number").generatedAlwaysAsIdentity(),
    orderId: integer("order_id")
      .notNull()
      .references(() => orders.id, { onDelete: "cascade" }),
  },
});
const pgqueue = createPgqueue(rich);
const columns = { required: "r", kindOf: "x", orderId: 1 } as const;

describe("the user's columns", () => {
  test("are read as Drizzle reads them", async () => {
    const [task] = await pgqueue.getTask(db, 1);
    expectTypeOf(task!.columns).toEqualTypeOf<ExtraSelect<typeof rich.tasks>>();
    expectTypeOf(task!.columns).toEqualTypeOf<{
      required: string;
      withDefault: string;
      madeHere: string;
      nullable: number | null;
      branded: "a" | "b" | null;
      mood: "sad" | "happy" | null;
      place: { x: number; y: number } | null;
      settings: { dark: boolean } | null;
      at: Date | null;
      day: string | null;
      kindOf: "x" | "y";
      flags: boolean[] | null;
      total: number | null;
      number: number;
      orderId: number;
    }>();
    const [claimed] = await pgqueue.claim(db, receipt, { limit: 1 });
    expectTypeOf(claimed!.columns).toEqualTypeOf(task!.columns);
    createWorker({ db, pgqueue }).register(receipt, (job) => {
      expectTypeOf(job.columns).toEqualTypeOf(task!.columns);
    });
  });

  test("are given as Drizzle takes them", async () => {
    await pgqueue.enqueue(db, receipt, payload, { columns });
    await pgqueue.enqueueMany(db, receipt, [{ payload, columns: { ...columns, nullable: null, flags: [true] } }]);
    await pgqueue.enqueue(db, receipt, payload, {
      columns: {
        ...columns,
        branded: "b",
        mood: "sad",
        place: { x: 1, y: 2 },
        at: new Date(),
        settings: { dark: true },
      },
    });
    // @ts-expect-error one of the required is missing
    await pgqueue.enqueue(db, receipt, payload, { columns: { required: "r", kindOf: "x" } });
    // @ts-expect-error not one of its values
    await pgqueue.enqueue(db, receipt, payload, { columns: { ...columns, kindOf: "z" } });
    // @ts-expect-error not one of its values
    await pgqueue.enqueue(db, receipt, payload, { columns: { ...columns, branded: "c" } });
    // @ts-expect-error not one of its values
    await pgqueue.enqueue(db, receipt, payload, { columns: { ...columns, mood: "angry" } });
    // @ts-expect-error not its shape
    await pgqueue.enqueue(db, receipt, payload, { columns: { ...columns, settings: { dark: 1 } } });
    // @ts-expect-error Postgres computes it
    await pgqueue.enqueue(db, receipt, payload, { columns: { ...columns, total: 1 } });
    // @ts-expect-error Postgres counts it
    await pgqueue.enqueue(db, receipt, payload, { columns: { ...columns, number: 1 } });
    expectTypeOf<Pick<ExtraInsert<typeof rich.tasks>, "required" | "nullable">>().toEqualTypeOf<{
      required: string;
      nullable?: number | null | undefined;
    }>();
    expectTypeOf<ExtraInsert<typeof rich.tasks>>().not.toHaveProperty("total");
  });

  test("of a ticker are those of the table", () => {
    const good = defineTicker({ queue: "q", key: "k", ...cursor, columns });
    const { required: _required, ...less } = columns;
    pgqueue.upsertTicker(db, good);
    createWorker({ db, pgqueue }).register(good, () => {});
    // @ts-expect-error written in place, it lacks the required column all the same
    worker.register(defineTicker({ queue: "q", key: "k", ...cursor }), () => {});
    // @ts-expect-error
    void own.upsertTicker(db, defineTicker({ queue: "q", key: "k", ...cursor }));
    const lacking = defineTicker({ queue: "q", key: "k", ...cursor, columns: less });
    // @ts-expect-error one is missing
    pgqueue.upsertTicker(db, lacking);
    // @ts-expect-error one is missing
    createWorker({ db, pgqueue }).register(lacking, () => {});
    // @ts-expect-error columns are an object
    defineTicker({ queue: "q", key: "k", ...cursor, columns: null });
    const wrong = defineTicker({ queue: "q", key: "k", ...cursor, columns: { ...columns, required: 1 } });
    // @ts-expect-error it is text
    pgqueue.upsertTicker(db, wrong);
  });

  test("are named apart from pgqueue's", () => {
    expectTypeOf<ExtraSelect<typeof tasks>>().toEqualTypeOf<ShopColumns>();
    expectTypeOf<ExtraInsert<typeof tasks>>().toEqualTypeOf<{
      tenantId: string;
      orderId?: number | null | undefined;
      note?: string | null | undefined;
    }>();
    expectTypeOf<ExtraSelect<TasksTable>>().toEqualTypeOf<{}>();
    // @ts-expect-error not a task table
    assertType<ExtraSelect<typeof orders>>({});
  });
});

describe("two sets of tables", () => {
  test("do not mix where one has columns that the other lacks", () => {
    assertType<Pgqueue>(plain);
    // @ts-expect-error enqueue of the shop wants columns
    assertType<Pgqueue>(shop);
    // @ts-expect-error rows of plain tables have no columns
    assertType<typeof shop>(plain);
    // @ts-expect-error nor have they a tenant here
    assertType<typeof shop>(maybe);
  });

  test("nor do their workers and handlers", () => {
    expectTypeOf(createWorker({ db, pgqueue: plain })).toEqualTypeOf<Worker>();
    expectTypeOf(createWorker({ db, pgqueue: shop })).toEqualTypeOf<WorkerOf<typeof shop>>();
    const handler: Handler<PayloadOf<typeof receipt>, ShopColumns> = (job) => void job.columns.tenantId;
    createWorker({ db, pgqueue: shop }).register(receipt, handler);
    // @ts-expect-error tasks of plain tables have no tenant
    createWorker({ db, pgqueue: plain }).register(receipt, handler);
    // @ts-expect-error handlers of the shop may ask for the tenant
    assertType<WorkerOf<typeof shop>>(createWorker({ db, pgqueue: plain }));
    const unaware: Handler<PayloadOf<typeof receipt>> = (job) => void job.payload.orderId;
    createWorker({ db, pgqueue: shop }).register(receipt, unaware);
    // @ts-expect-error no statements
    assertType<WorkerOf<typeof tasks>>(createWorker({ db, pgqueue: plain }));
  });
});
