import { boolean, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { pgqueueTables } from "pgqueue/schema";

export const subscribers = pgTable("subscribers", {
  id: integer("id").primaryKey().generatedAlwaysAsIdentity(),
  email: text("email").notNull(),
  isActive: boolean("is_active").notNull().default(true),
});

/** An issue of the newsletter, and when it goes out. */
export const issues = pgTable("issues", {
  id: integer("id").primaryKey(),
  title: text("title").notNull(),
  sendAt: timestamp("send_at", { withTimezone: true }).notNull(),
});

export const uploads = pgTable("uploads", {
  path: text("path").primaryKey(),
  expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
});

export const { tasks, queues } = pgqueueTables();
