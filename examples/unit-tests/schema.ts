import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { pgqueueTables } from "pgqueue/schema";

export const orders = pgTable("orders", {
  id: integer("id").primaryKey().generatedAlwaysAsIdentity(),
  email: text("email").notNull(),
});

export const { tasks, queues } = pgqueueTables();
