import { asc, gt } from "drizzle-orm";
import { createWorker, done, retry, type Worker } from "pgqueue";
import type { Db } from "./database.ts";
import { printLabel, recordPayment, sendReceipt, syncLedger } from "./jobs.ts";
import { say } from "./narrator.ts";
import type { Outcomes } from "./outcomes.ts";
import { pgqueue } from "./queue.ts";
import { labels, ledger, orders, payments, receipts } from "./schema.ts";

/** Two workers that share the work; in real life they are processes on different machines. */
export async function startWorkers(db: Db, outcomes: Outcomes): Promise<Worker[]> {
  const workers = ["anna", "ben"].map((workerId) => shopWorker(workerId, db, outcomes));
  for (const worker of workers) await worker.start();
  return workers;
}

function shopWorker(workerId: string, db: Db, outcomes: Outcomes): Worker {
  const worker = createWorker({ db, pgqueue, workerId, concurrency: 5, onEvent: outcomes.note });

  worker.register(sendReceipt, async ({ payload: { orderId, to }, attempt }, ctx) => {
    if (to.endsWith("@away.example") && attempt === 1) {
      say(`${workerId} cannot send the receipt of order ${orderId}: the mail server is away`);
      return retry(new Error("the mail server is away"));
    }
    // The receipt and the end of the task are committed together, or neither is.
    await db.transaction(async (tx) => {
      await tx.insert(receipts).values({ orderId, sentTo: to });
      await ctx.finalize(tx, done());
    });
    say(`${workerId} sent the receipt of order ${orderId} to ${to}${attempt > 1 ? `, at try ${attempt}` : ""}`);
    return done();
  });

  worker.register(syncLedger, async ({ payload }) => {
    const { lastOrderId } = payload;
    // Orders are placed one after another here. Where they are not, one may commit after another with a higher id.
    const fresh = await db.select().from(orders).where(gt(orders.id, lastOrderId)).orderBy(asc(orders.id)).limit(3);
    if (fresh.length === 0) return done();
    await db
      .insert(ledger)
      .values(fresh.map(({ id, cents }) => ({ orderId: id, cents })))
      .onConflictDoNothing();
    payload.lastOrderId = fresh.at(-1)!.id;
    const copied = fresh.length === 1 ? "1 order" : `${fresh.length} orders`;
    say(`${workerId} copied ${copied} to the ledger; the cursor is now ${payload.lastOrderId}`);
    return done();
  });

  worker.register(printLabel, async ({ payload: { orderId, address } }) => {
    await db.insert(labels).values({ orderId, city: address.city });
    say(`${workerId} printed a label for ${address.street}, ${address.city}`);
  });

  worker.register(recordPayment, async ({ payload }) => {
    await db.insert(payments).values(payload);
    say(`${workerId} recorded payment ${payload.event}`);
  });

  return worker;
}
