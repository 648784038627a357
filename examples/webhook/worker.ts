import { eq, sql } from "drizzle-orm";
import { createWorker, done, fail, type WorkerEvent } from "pgqueue";
import { db } from "./db.ts";
import { pgqueue, recordPayment } from "./queue.ts";
import { invoices, payments } from "./schema.ts";

export function createPaymentWorker(onEvent: (event: WorkerEvent) => void) {
  const worker = createWorker({ db, pgqueue, onEvent });
  worker.register(recordPayment, async ({ payload: { id, invoiceId, cents } }, ctx) => {
    const [invoice] = await db.select().from(invoices).where(eq(invoices.id, invoiceId));
    if (!invoice) return fail(new Error(`there is no invoice ${invoiceId}`));

    // The payment and the end of the task are committed together: it is recorded exactly once.
    await db.transaction(async (tx) => {
      await tx.insert(payments).values({ eventId: id, invoiceId, cents });
      await tx
        .update(invoices)
        .set({ paidCents: sql`${invoices.paidCents} + ${cents}` })
        .where(eq(invoices.id, invoiceId));
      await ctx.finalize(tx, done());
    });
  });
  return worker;
}
