import { integer, pgTable, text } from "drizzle-orm/pg-core";
import * as v from "valibot";
import { createPgqueue, defineJob, defineTicker, pgqueueTables } from "../../src/index.ts";

export const orders = pgTable("orders", {
  id: integer("id").primaryKey().generatedByDefaultAsIdentity(),
  email: text("email").notNull(),
});
const { tasks, queues } = pgqueueTables();

/** A user's schema module. */
export const schema = { orders, tasks, queues };
export { tasks };
export const pgqueue = createPgqueue({ tasks, queues });
export const { enqueue } = pgqueue;

export const mail = defineJob({
  queue: "mail",
  payload: v.object({ to: v.string(), n: v.optional(v.number(), 1) }),
  retryDelay: "1m",
});
export const daily = defineTicker({
  queue: "daily",
  key: "report",
  every: "1d",
  payload: v.object({ page: v.number() }),
  initialPayload: { page: 1 },
});
