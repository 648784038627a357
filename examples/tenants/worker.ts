import { eq } from "drizzle-orm";
import { createWorker } from "pgqueue";
import { asTenant } from "./as-tenant.ts";
import { db } from "./db.ts";
import { pgqueue, sendInvoice } from "./queue.ts";
import { invoices } from "./schema.ts";

/** Claims tasks of all tenants; each handler works inside of its own. */
export const worker = createWorker({ db, pgqueue });

worker.register(sendInvoice, async ({ payload, columns: { tenantId } }) => {
  const [invoice] = await asTenant(tenantId, (tx) =>
    tx.select().from(invoices).where(eq(invoices.id, payload.invoiceId)),
  );
  console.log(`${tenantId}: invoice ${payload.invoiceId} goes to ${invoice!.email}`);
});
