import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { pgqueueTables } from "pgqueue/schema";

export const invoices = pgTable("invoices", {
  id: integer("id").primaryKey(),
  paidCents: integer("paid_cents").notNull().default(0),
});

export const payments = pgTable("payments", {
  eventId: text("event_id").notNull(),
  invoiceId: integer("invoice_id")
    .notNull()
    .references(() => invoices.id),
  cents: integer("cents").notNull(),
});

export const { tasks, queues } = pgqueueTables();
