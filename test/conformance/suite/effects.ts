import { eq, sql } from "drizzle-orm";
import { pgTable, text } from "drizzle-orm/pg-core";
import type { Database } from "./driver.ts";

/** A table of the user's own, beside the queue's. */
export const effects = pgTable("conformance_effects", { key: text("key").primaryKey() });

export async function createEffects(db: Database): Promise<void> {
  await db.execute(sql`create table if not exists ${effects} (key text primary key)`);
}

/** How many rows have the key: 0 or 1. */
export async function effectsOf(db: Database, key: string): Promise<number> {
  return (await db.select().from(effects).where(eq(effects.key, key))).length;
}
