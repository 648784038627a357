import { asTenant } from "./as-tenant.ts";
import { pgqueue, sendInvoice } from "./queue.ts";
import { invoices } from "./schema.ts";

export function bill(tenantId: string, email: string): Promise<number> {
  return asTenant(tenantId, async (tx) => {
    const [invoice] = await tx.insert(invoices).values({ tenantId, email }).returning();
    await pgqueue.enqueue(tx, sendInvoice, { invoiceId: invoice!.id }, { columns: { tenantId } });
    return invoice!.id;
  });
}
