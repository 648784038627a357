import { Hono } from "hono";
import { validator } from "hono/validator";
import * as v from "valibot";
import { db } from "./db.ts";
import { pgqueue, sendReceipt } from "./queue.ts";
import { orders } from "./schema.ts";

const Order = v.object({ email: v.pipe(v.string(), v.email()) });
const TaskId = v.pipe(v.string(), v.digits(), v.transform(Number), v.safeInteger());

export const app = new Hono();

app.post(
  "/orders",
  validator("json", (body, c) => {
    const order = v.safeParse(Order, body);
    return order.success ? order.output : c.json({ error: v.summarize(order.issues) }, 400);
  }),
  async (c) => {
    const { email } = c.req.valid("json");
    const accepted = await db.transaction(async (tx) => {
      const [order] = await tx.insert(orders).values({ email }).returning();
      const { id } = await pgqueue.enqueue(tx, sendReceipt, { orderId: order!.id, to: email });
      return { orderId: order!.id, taskId: id };
    });
    return c.json(accepted, 202);
  },
);

app.get("/tasks/:id", async (c) => {
  const id = v.safeParse(TaskId, c.req.param("id"));
  const [task] = id.success ? await pgqueue.getTask(db, id.output) : [];
  if (!task) return c.json({ error: "there is no such task" }, 404);
  // The payload and its errors are nobody's business but ours.
  return c.json({ status: task.status, output: task.output });
});
