import type { AnyDatabase } from "pgqueue";
import { askForReview, pgqueue, sendReceipt } from "./queue.ts";
import { orders } from "./schema.ts";

export interface Cart {
  email: string;
  pay(): Promise<void>;
}

export async function checkOut(db: AnyDatabase, { email, pay }: Cart): Promise<number> {
  return db.transaction(async (tx) => {
    const [order] = await tx.insert(orders).values({ email }).returning();
    const orderId = order!.id;
    await pgqueue.enqueue(tx, sendReceipt, { orderId, to: email });
    await pgqueue.enqueue(tx, askForReview, { orderId }, { delay: "1w", priority: 9 });
    await pay();
    return orderId;
  });
}
