import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { pgqueueTables } from "pgqueue/schema";

export const orders = pgTable("orders", {
  id: integer("id").primaryKey().generatedAlwaysAsIdentity(),
  cart: text("cart").notNull().unique(),
  item: text("item").notNull(),
});

export const { tasks, queues } = pgqueueTables();
