import { relations } from "drizzle-orm";
import { drizzle } from "drizzle-orm/pglite";
import type { TaskError, TaskStatus } from "pgqueue";
import { createTestDatabase } from "pgqueue/testing";
import { describe, expectTypeOf, test } from "vitest";
import { orders, queues, tasks } from "../shop.ts";

const ordersRelations = relations(orders, ({ many }) => ({ tasks: many(tasks) }));
const tasksRelations = relations(tasks, ({ one }) => ({
  order: one(orders, { fields: [tasks.orderId], references: [orders.id] }),
  pause: one(queues, { fields: [tasks.queue], references: [queues.queue] }),
}));
const schema = { orders, tasks, queues, ordersRelations, tasksRelations };
const db = drizzle({ schema });

describe("relations of Drizzle 0.45", () => {
  test("lead from a task to the user's row and to its queue", async () => {
    const [task] = await db.query.tasks.findMany({ with: { order: true, pause: true } });
    expectTypeOf(task!.order).toEqualTypeOf<{ id: number; to: string } | null>();
    expectTypeOf(task!.pause).toEqualTypeOf<{ queue: string; pausedAt: Date | null }>();
    expectTypeOf(task!.status).toEqualTypeOf<TaskStatus>();
    expectTypeOf(task!.errors).toEqualTypeOf<TaskError[] | null>();
    expectTypeOf(task!.payload).toBeUnknown();
    expectTypeOf(task!.tenantId).toEqualTypeOf<string>();
    // @ts-expect-error no such relation
    db.query.tasks.findMany({ with: { nope: true } });
  });

  test("lead from the user's row to its tasks", async () => {
    const [order] = await db.query.orders.findMany({
      with: { tasks: { columns: { id: true, status: true, runAt: true, payload: true, note: true } } },
    });
    expectTypeOf(order!.tasks).toEqualTypeOf<
      { id: number; status: TaskStatus; runAt: Date; payload: unknown; note: string | null }[]
    >();
    // @ts-expect-error no such column
    db.query.orders.findMany({ with: { tasks: { columns: { nope: true } } } });
  });

  test("are there in a test's database", async () => {
    const { db } = await createTestDatabase({ schema });
    const task = await db.query.tasks.findFirst({ with: { order: true } });
    expectTypeOf(task!.order).toEqualTypeOf<{ id: number; to: string } | null>();
  });
});
