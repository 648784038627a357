import { eq } from "drizzle-orm";
import { index, integer, pgSchema, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import { createPgqueue, pgqueueTables, type TaskError } from "pgqueue";
import { queues as defaultQueues, tasks as defaultTasks } from "pgqueue/schema";
import { describe, expectTypeOf, test } from "vitest";

const orders = pgTable("orders", { id: integer("id").primaryKey(), to: text("to").notNull() });
const jobs = pgSchema("jobs");
const { tasks, queues } = pgqueueTables({
  prefix: "shop_",
  schema: jobs,
  columns: {
    tenantId: uuid("tenant_id").notNull(),
    orderId: integer("order_id").references(() => orders.id),
    note: text("note").default(""),
  },
  extraConfig: (t) => [index("by_tenant").on(t.tenantId, t.runAt)],
});
const plain = pgqueueTables();
const db = drizzle({ client: null as never });

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
    // @ts-expect-error a schema is not its name
    pgqueueTables({ schema: "jobs" });
    // @ts-expect-error no such column in extraConfig
    pgqueueTables({ extraConfig: (t) => [index("i").on(t.nope)] });
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
  });
});
