import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { pgqueueTables } from "pgqueue/schema";

/** A contact that was imported twice would break the primary key. */
export const contacts = pgTable("contacts", {
  id: integer("id").primaryKey(),
  name: text("name").notNull(),
});

export const { tasks, queues } = pgqueueTables();
