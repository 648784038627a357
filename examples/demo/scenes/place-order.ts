import type { Db } from "../database.ts";
import { sendReceipt } from "../jobs.ts";
import { pgqueue } from "../queue.ts";
import { orders } from "../schema.ts";

export interface Cart {
  readonly email: string;
  readonly cents: number;
  readonly card?: "declined";
}

/** The business transaction: the order and its receipt task exist together, or not at all. */
export function placeOrder(db: Db, { email, cents, card }: Cart): Promise<{ orderId: number; taskId: number }> {
  return db.transaction(async (tx) => {
    const [order] = await tx.insert(orders).values({ email, cents }).returning();
    const task = await pgqueue.enqueue(tx, sendReceipt, { orderId: order!.id, to: email });
    if (card === "declined") throw new CardDeclined(email);
    return { orderId: order!.id, taskId: task.id };
  });
}

export class CardDeclined extends Error {}
