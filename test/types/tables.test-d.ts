import { eq, getTableColumns, getTableName, type InferInsertModel, type InferSelectModel, sql } from "drizzle-orm";
import {
  alias,
  bigint,
  check,
  foreignKey,
  index,
  integer,
  pgPolicy,
  pgSchema,
  pgTable,
  pgView,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import {
  createPgqueue,
  type PgqueueOptions,
  type PgqueueTables,
  pgqueueTables,
  type QueuesTable,
  type TaskError,
  type TaskKind,
  type TaskStatus,
  type TasksTable,
} from "pgqueue";
import { queues as defaultQueues, tasks as defaultTasks } from "pgqueue/schema";
import { assertType, describe, expectTypeOf, test } from "vitest";
import { db, orders } from "./shop.ts";

const jobs = pgSchema("jobs");
const { tasks, queues } = pgqueueTables({
  prefix: "shop_",
  schema: jobs,
  columns: {
    tenantId: uuid("tenant_id").notNull(),
    orderId: integer("order_id").references(() => orders.id),
    note: text("note").default(""),
  },
  extraConfig: (t) => [
    index("by_tenant").on(t.tenantId, t.runAt),
    uniqueIndex("one_per_order").on(t.orderId).where(sql`${t.status} = 'pending'`),
    check("noted", sql`${t.note} <> ''`),
    foreignKey({ columns: [t.orderId], foreignColumns: [orders.id] }),
    pgPolicy("own", { using: sql`${t.tenantId} = current_setting('tenant')::uuid` }),
  ],
});
const plain = pgqueueTables();

describe("pgqueueTables", () => {
  test("gives ordinary tables, read with their own types", async () => {
    const [row] = await db.select().from(plain.tasks);
    expectTypeOf(row!).toEqualTypeOf<{
      id: number;
      queue: string;
      kind: "job" | "ticker";
      key: string | null;
      hash: string | null;
      hashHeld: boolean;
      status: "pending" | "running" | "completed" | "failed" | "disabled";
      priority: number;
      payload: unknown;
      output: unknown;
      errors: TaskError[] | null;
      attempt: number;
      claims: number;
      maxRetries: number | null;
      runAt: Date;
      claimToken: string | null;
      claimedBy: string | null;
      claimedAt: Date | null;
      leaseUntil: Date | null;
      startedAt: Date | null;
      meta: Record<string, unknown> | null;
      createdAt: Date;
      finishedAt: Date | null;
    }>();
    const [queue] = await db.select().from(plain.queues);
    expectTypeOf(queue!).toEqualTypeOf<{ queue: string; pausedAt: Date | null }>();
  });

  test("the user's columns are typed beside pgqueue's", async () => {
    const [row] = await db
      .select({
        id: tasks.id,
        status: tasks.status,
        tenant: tasks.tenantId,
        order: tasks.orderId,
        note: tasks.note,
      })
      .from(tasks);
    expectTypeOf(row!).toEqualTypeOf<{
      id: number;
      status: "pending" | "running" | "completed" | "failed" | "disabled";
      tenant: string;
      order: number | null;
      note: string | null;
    }>();
  });

  test("a join is keyed by the name of the table", async () => {
    const [joined] = await db.select().from(tasks).leftJoin(orders, eq(orders.id, tasks.orderId));
    expectTypeOf(joined!.shop_tasks.tenantId).toEqualTypeOf<string>();
    expectTypeOf(joined!.orders).toEqualTypeOf<{ id: number; to: string } | null>();
    const [plainly] = await db.select().from(plain.tasks).leftJoin(orders, eq(orders.id, plain.tasks.id));
    expectTypeOf(plainly!.pgqueue_tasks.queue).toEqualTypeOf<string>();
    // @ts-expect-error the table has another name
    plainly!.shop_tasks;
  });

  test("an insert wants what has no default", async () => {
    await db.insert(plain.tasks).values({ queue: "q", payload: {} });
    await db.insert(tasks).values({ queue: "q", payload: {}, tenantId: "t" });
    await db.insert(tasks).values({ queue: "q", payload: {}, tenantId: "t", orderId: 1, note: null, priority: 2 });
    // @ts-expect-error tenantId is required
    await db.insert(tasks).values({ queue: "q", payload: {} });
    // @ts-expect-error queue is required
    await db.insert(plain.tasks).values({ payload: {} });
    // @ts-expect-error no such status
    await db.insert(plain.tasks).values({ queue: "q", payload: {}, status: "done" });
  });

  test("what is read and given has a type by itself", () => {
    expectTypeOf<Pick<typeof tasks.$inferSelect, "id" | "status" | "tenantId" | "orderId">>().toEqualTypeOf<{
      id: number;
      status: TaskStatus;
      tenantId: string;
      orderId: number | null;
    }>();
    type Given = typeof tasks.$inferInsert;
    expectTypeOf<Pick<Given, "queue" | "payload" | "tenantId">>().toEqualTypeOf<{
      queue: string;
      payload: unknown;
      tenantId: string;
    }>();
    expectTypeOf<Given["runAt"]>().toEqualTypeOf<Date | undefined>();
    expectTypeOf<Given["kind"]>().toEqualTypeOf<TaskKind | undefined>();
    expectTypeOf<Given["meta"]>().toEqualTypeOf<Record<string, unknown> | null | undefined>();
    expectTypeOf<InferSelectModel<typeof tasks>>().toEqualTypeOf<typeof tasks.$inferSelect>();
    expectTypeOf<InferInsertModel<typeof tasks>>().toEqualTypeOf<Given>();
    expectTypeOf<typeof queues.$inferSelect>().toEqualTypeOf<{ queue: string; pausedAt: Date | null }>();
    expectTypeOf<typeof queues.$inferInsert>().toEqualTypeOf<{ queue: string; pausedAt?: Date | null | undefined }>();
  });

  test("their names are literals made of the prefix", () => {
    expectTypeOf(getTableName(plain.tasks)).toEqualTypeOf<"pgqueue_tasks">();
    expectTypeOf(getTableName(plain.queues)).toEqualTypeOf<"pgqueue_queues">();
    expectTypeOf(getTableName(tasks)).toEqualTypeOf<"shop_tasks">();
    expectTypeOf(getTableName(queues)).toEqualTypeOf<"shop_queues">();
    expectTypeOf(plain.tasks).toEqualTypeOf<TasksTable>();
    expectTypeOf(queues).toEqualTypeOf<QueuesTable<"shop_queues">>();
    expectTypeOf(plain).toEqualTypeOf<PgqueueTables>();
    const prefix: string = "any_";
    expectTypeOf(getTableName(pgqueueTables({ prefix }).tasks)).toEqualTypeOf<`${string}tasks`>();
  });

  test("the user's tables and views refer to them", async () => {
    const receipts = pgTable("receipts", {
      id: integer("id").primaryKey(),
      taskId: bigint("task_id", { mode: "number" }).references(() => tasks.id, { onDelete: "set null" }),
      queue: text("queue").references(() => queues.queue),
    });
    const [row] = await db.select().from(receipts).innerJoin(tasks, eq(tasks.id, receipts.taskId));
    expectTypeOf(row!.receipts.taskId).toEqualTypeOf<number | null>();
    const failed = pgView("failed").as((qb) =>
      qb.select({ id: tasks.id, tenant: tasks.tenantId }).from(tasks).where(eq(tasks.status, "failed")),
    );
    expectTypeOf(await db.select().from(failed)).toEqualTypeOf<{ id: number; tenant: string }[]>();
    const other = alias(tasks, "other");
    const [pair] = await db.select().from(tasks).innerJoin(other, eq(other.hash, tasks.hash));
    expectTypeOf(pair!.other.tenantId).toEqualTypeOf<string>();
    // @ts-expect-error no such status
    eq(tasks.status, "done");
    // @ts-expect-error no such kind
    eq(tasks.kind, "cron");
  });

  test("rows are changed and deleted like any others", async () => {
    const [changed] = await db
      .update(tasks)
      .set({ runAt: new Date(), note: null })
      .where(eq(tasks.tenantId, "t"))
      .returning({ id: tasks.id, note: tasks.note });
    expectTypeOf(changed!).toEqualTypeOf<{ id: number; note: string | null }>();
    const [deleted] = await db.delete(plain.tasks).returning();
    expectTypeOf(deleted!).toEqualTypeOf<typeof plain.tasks.$inferSelect>();
    // @ts-expect-error queue is not null
    db.update(tasks).set({ queue: null });
    // @ts-expect-error no such column
    db.update(tasks).set({ nope: 1 });
  });

  test("default tables are those of pgqueue/schema", () => {
    expectTypeOf(defaultTasks).toEqualTypeOf(plain.tasks);
    expectTypeOf(defaultQueues).toEqualTypeOf(plain.queues);
    createPgqueue({ tasks: defaultTasks, queues: defaultQueues });
  });

  test("mistakes are refused", () => {
    // @ts-expect-error unknown column
    tasks.nope;
    // @ts-expect-error columns must be column builders
    pgqueueTables({ columns: { a: 5 } });
    // @ts-expect-error unknown option
    pgqueueTables({ prefx: "shop_" });
    // @ts-expect-error a prefix is text
    pgqueueTables({ prefix: 1 });
    // @ts-expect-error a schema is not its name
    pgqueueTables({ schema: "jobs" });
    // @ts-expect-error a table is not its columns
    pgqueueTables({ columns: orders });
    // @ts-expect-error no such column in extraConfig
    pgqueueTables({ extraConfig: (t) => [index("i").on(t.nope)] });
    // @ts-expect-error extraConfig gives a list
    pgqueueTables({ extraConfig: (t) => index("i").on(t.hash) });
  });
});

describe("createPgqueue", () => {
  test("takes tables of pgqueueTables alone", () => {
    createPgqueue({ tasks, queues });
    createPgqueue({ tasks, queues, notify: false });
    // @ts-expect-error not a task table
    createPgqueue({ tasks: orders, queues });
    // @ts-expect-error not a queue table
    createPgqueue({ tasks, queues: orders });
    // @ts-expect-error the one for the other
    createPgqueue({ tasks: queues, queues: tasks });
    // @ts-expect-error queues is missing
    createPgqueue({ tasks });
    // @ts-expect-error unknown option
    createPgqueue({ tasks, queues, notfy: false });
    // @ts-expect-error columns that are no table
    createPgqueue({ tasks: getTableColumns(tasks), queues });
    assertType<PgqueueOptions<typeof tasks>>({ tasks, queues });
  });
});
