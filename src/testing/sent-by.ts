import { type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/pg-proxy";
import { ConflictError } from "../errors.ts";
import type { Db } from "../queries/statement.ts";

/**
 * The statements that a call would send, each once. They go to a database that finds and inserts nothing, so a call that
 * looks before it inserts does both, and gives up.
 */
export async function sentBy(call: (db: Db) => PromiseLike<unknown>): Promise<SQL[]> {
  const sent = new Map<string, SQL>();
  const db = drizzle(async (text, params) => {
    sent.set(text, withParams(text, params));
    return { rows: [] };
  });
  // As a transaction it is asked to begin none.
  const transaction = Object.assign(db, { rollback: () => {} }) as unknown as Db;
  try {
    await call(transaction);
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
  }
  return [...sent.values()];
}

/** Drizzle numbers parameters one by one, and no literal of ours looks like one. */
function withParams(text: string, params: readonly unknown[]): SQL {
  const parts = text.split(/\$\d+/).map((part) => sql.raw(part));
  return sql.join(parts.flatMap((part, i) => (i === 0 ? [part] : [sql`${params[i - 1]}`, part])));
}
