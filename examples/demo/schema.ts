import { randomUUID } from "node:crypto";
import { integer, pgSchema, text } from "drizzle-orm/pg-core";
import { pgqueueTables } from "pgqueue";

/** A Postgres schema of a fresh name for each run, dropped at the end: nothing else in the database is touched. */
export const shop = pgSchema(`pgqueue_demo_${randomUUID().slice(0, 8)}`);

/** The queue's tables stand beside the shop's own. */
export const { tasks, queues } = pgqueueTables({ schema: shop });

export const orders = shop.table("orders", {
  id: integer("id").primaryKey().generatedAlwaysAsIdentity(),
  email: text("email").notNull(),
  cents: integer("cents").notNull(),
});

/** What the receipt handler did. */
export const receipts = shop.table("receipts", {
  orderId: integer("order_id")
    .primaryKey()
    .references(() => orders.id),
  sentTo: text("sent_to").notNull(),
});

/** The ticker's copy of the orders. */
export const ledger = shop.table("ledger", {
  orderId: integer("order_id").primaryKey(),
  cents: integer("cents").notNull(),
});

export const labels = shop.table("labels", {
  orderId: integer("order_id").notNull(),
  city: text("city").notNull(),
});

export const payments = shop.table("payments", {
  event: text("event").notNull(),
  cents: integer("cents").notNull(),
});

export const stockCounts = shop.table("stock_counts", {
  shelf: text("shelf").notNull(),
  countedBy: text("counted_by").notNull(),
});
