import { defineRelations } from "drizzle-orm";
import { drizzle } from "drizzle-orm/pglite";
import type { TaskError, TaskStatus } from "pgqueue";
import { createTestDatabase } from "pgqueue/testing";
import { describe, expectTypeOf, test } from "vitest";
import { orders, queues, tasks } from "../shop.ts";

const relations = defineRelations({ orders, tasks, queues }, (r) => ({
  orders: { tasks: r.many.tasks() },
  tasks: {
    order: r.one.orders({ from: r.tasks.orderId, to: r.orders.id }),
    pause: r.one.queues({ from: r.tasks.queue, to: r.queues.queue }),
  },
}));
const db = drizzle({ relations });

describe("relations of Drizzle 1.0", () => {
  test("lead from a task to the user's row and to its queue", async () => {
    const [task] = await db.query.tasks.findMany({ with: { order: true, pause: true } });
    expectTypeOf(task!.order).toEqualTypeOf<{ id: number; to: string } | null>();
    expectTypeOf(task!.pause).toEqualTypeOf<{ queue: string; pausedAt: Date | null } | null>();
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

  test("are filtered by the columns of tasks", async () => {
    await db.query.tasks.findFirst({ where: { status: "pending", orderId: { isNotNull: true }, tenantId: "t" } });
    // @ts-expect-error no such status
    await db.query.tasks.findFirst({ where: { status: "done" } });
    // @ts-expect-error no such column
    await db.query.tasks.findFirst({ where: { nope: 1 } });
  });

  test("are known to a test database", async () => {
    const { db } = await createTestDatabase({ schema: { orders, tasks, queues }, relations });
    const [task] = await db.query.tasks.findMany({ with: { order: true } });
    expectTypeOf(task!.order).toEqualTypeOf<{ id: number; to: string } | null>();
  });
});
