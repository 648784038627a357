import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import type postgres from "postgres";
import { isCut } from "../../src/worker/fault.ts";

/**
 * As `db.transaction`, but where the connection is lost nothing more is sent: the ROLLBACK of postgres.js 3.4.9 goes to a socket
 * that may be gone, which ends the process or leaves a connection that never answers again (porsager/postgres#1208, #1215).
 */
export async function inTransaction(
  client: postgres.Sql,
  run: (tx: PostgresJsDatabase) => Promise<void>,
): Promise<void> {
  const connection = await client.reserve();
  try {
    await connection`begin`;
    await run(drizzle(Object.assign(connection, { options: client.options }) as unknown as postgres.Sql));
    await connection`commit`;
  } catch (error) {
    if (!isCut(error)) {
      await connection`rollback`;
      connection.release();
    }
    throw error;
  }
  connection.release();
}
