import { sql } from "drizzle-orm";
import type { Database } from "./driver.ts";

/** Creates tables, types and schemas by the migration that drizzle-kit makes of them. */
export async function create(db: Database, schema: Record<string, unknown>): Promise<void> {
  const { generateDrizzleJson, generateMigration } = await drizzleKit();
  const statements = await generateMigration(await generateDrizzleJson({}), await generateDrizzleJson(schema));
  for (const statement of statements) await db.execute(sql.raw(statement));
}

/** It has another name in each major. */
async function drizzleKit(): Promise<typeof import("drizzle-kit/api")> {
  const first: string = "drizzle-kit/api-postgres";
  return import(first).catch(() => import("drizzle-kit/api"));
}
