import { sql } from "drizzle-orm";
import { db } from "./db.ts";
import { appRole } from "./schema.ts";

type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0];

/**
 * Runs a transaction that reaches the rows of one tenant. Role and tenant last as long as it does, so the next user of the
 * connection does not inherit them. An app that logs in as its role leaves out the first statement.
 */
export function asTenant<T>(tenantId: string, run: (tx: Tx) => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`set local role ${sql.identifier(appRole.name)}`);
    await tx.execute(sql`select set_config('app.tenant', ${tenantId}, true)`);
    return run(tx);
  });
}
