import type { SQL } from "drizzle-orm";
import type { Database } from "./driver.ts";

/** Rows of raw SQL, which drivers hand out in two ways. */
export async function rowsOf<Row = Record<string, unknown>>(db: Database, query: SQL): Promise<Row[]> {
  const result = (await db.execute(query)) as unknown as Row[] | { rows: Row[] };
  return Array.isArray(result) ? result : result.rows;
}
