import { eq, sql } from "drizzle-orm";
import type {
  HeldTask,
  Holding,
  PurgeOptions,
  Queue,
  QueueState,
  QueueStats,
  ReapOptions,
  Task,
  TaskFilter,
  TaskStatus,
} from "pgqueue";
import { assertType, describe, expectTypeOf, test } from "vitest";
import { db, held, moment, payload, plain, receipt, type ShopColumns, shop, tasks, ticker } from "./shop.ts";

describe("operating on tasks", () => {
  test("gives rows with the user's columns", async () => {
    type Row = Task<ShopColumns>;
    expectTypeOf(await shop.enable(db, 1)).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.disable(db, 1)).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.requeue(db, 1, new Date())).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.getTask(db, 1)).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.listTasks(db)).toEqualTypeOf<Row[]>();
    expectTypeOf(await shop.replacePayload(db, receipt, 1, payload)).toEqualTypeOf<Row | undefined>();
    expectTypeOf(await plain.getTask(db, 1)).toEqualTypeOf<Task[]>();
    const [task] = await shop.getTask(db, 1);
    // @ts-expect-error no such column
    task!.columns.nope;
    // @ts-expect-error the row is a copy
    task!.status = "pending";
  });

  test("tells nothing of the claim's proof", () => {
    expectTypeOf<Task>().not.toHaveProperty("token");
    expectTypeOf<Task>().not.toHaveProperty("claimToken");
    expectTypeOf<Task>().not.toHaveProperty("claims");
  });

  test("answers what became of it", async () => {
    expectTypeOf<Holding>().toEqualTypeOf<"busy" | "lost" | "gone">();
    expectTypeOf(await shop.heldBy(db, receipt, [held])).toEqualTypeOf<HeldTask[]>();
    expectTypeOf<HeldTask>().toEqualTypeOf<{
      readonly id: number;
      readonly holding: Holding;
      readonly status?: TaskStatus;
    }>();
    expectTypeOf(await shop.reap(db, receipt)).toEqualTypeOf<{ id: number; status: TaskStatus }[]>();
    expectTypeOf(await shop.purge(db, { queue: receipt, status: "failed", olderThan: 0, limit: 1 })).toEqualTypeOf<
      { id: number }[]
    >();
    expectTypeOf(await shop.stats(db)).toEqualTypeOf<QueueStats[]>();
    expectTypeOf(await shop.pauseQueue(db, receipt)).toEqualTypeOf<QueueState[]>();
    expectTypeOf(await shop.resumeQueue(db, receipt)).toEqualTypeOf<QueueState[]>();
  });

  test("names a queue by its name or by a spec", () => {
    for (const queue of ["receipt", receipt, ticker]) assertType<Queue>(queue);
    plain.pauseQueue(db, "receipt");
    plain.resumeQueue(db, receipt);
    plain.purge(db, { queue: receipt, status: "completed", olderThan: "1d", limit: 1_000 });
    // @ts-expect-error a number
    plain.pauseQueue(db, 1);
    // @ts-expect-error running tasks are not purged
    plain.purge(db, { queue: receipt, status: "running", olderThan: "1d", limit: 1_000 });
    // @ts-expect-error a purge is bounded
    plain.purge(db, { queue: receipt, status: "completed", olderThan: "1d" });
    // @ts-expect-error unknown option
    plain.reap(db, receipt, { max: 1 });
    // @ts-expect-error an id is a number
    plain.enable(db, "1");
    assertType<ReapOptions>({ limit: 10 });
    expectTypeOf<PurgeOptions["status"]>().toEqualTypeOf<"completed" | "failed">();
  });

  test("takes the schema's input as a new payload", () => {
    plain.replacePayload(db, moment, 1, { at: "2027-01-01" });
    // @ts-expect-error wrong payload
    plain.replacePayload(db, receipt, 1, { orderId: "1", to: "x" });
    const less = { orderId: 1 };
    // @ts-expect-error a field is missing
    plain.replacePayload(db, receipt, 1, less);
    // @ts-expect-error the output
    plain.replacePayload(db, moment, 1, { at: new Date(), n: 1 });
    // @ts-expect-error excess field
    plain.replacePayload(db, receipt, 1, { orderId: 1, to: "x", extra: 1 });
  });

  test("filters by pgqueue's columns and the user's", () => {
    plain.listTasks(db, { queue: ticker, status: "failed", kind: "ticker", where: sql`true`, before: 9, limit: 20 });
    shop.listTasks(db, { where: eq(tasks.tenantId, "t") });
    // @ts-expect-error no such status
    plain.listTasks(db, { status: "done" });
    // @ts-expect-error no such kind
    plain.listTasks(db, { kind: "cron" });
    // @ts-expect-error unknown option
    plain.listTasks(db, { offset: 20 });
    // @ts-expect-error where is SQL
    shop.listTasks(db, { where: { tenantId: "t" } });
    // @ts-expect-error no such column
    shop.listTasks(db, { where: eq(tasks.nope, "t") });
    // @ts-expect-error tenantId is text
    shop.listTasks(db, { where: eq(tasks.tenantId, 1) });
    assertType<TaskFilter>({ queue: undefined, status: undefined, where: undefined });
  });
});
