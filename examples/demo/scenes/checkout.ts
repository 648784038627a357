import type { Db } from "../database.ts";
import { sendReceipt } from "../jobs.ts";
import { say, scene } from "../narrator.ts";
import type { Outcomes } from "../outcomes.ts";
import { CardDeclined, type Cart, placeOrder } from "./place-order.ts";

const carts: Cart[] = [
  { email: "ada@example.com", cents: 1250 },
  { email: "bob@example.com", cents: 800, card: "declined" },
  { email: "cleo@example.com", cents: 4300 },
  { email: "dan@example.com", cents: 999 },
  { email: "eve@example.com", cents: 12000 },
  { email: "finn@example.com", cents: 350, card: "declined" },
  { email: "gus@example.com", cents: 2100 },
  { email: "hana@example.com", cents: 75 },
];

/** A task enqueued in a transaction that rolls back was never there. */
export async function checkout(db: Db, outcomes: Outcomes): Promise<void> {
  scene("Orders enqueue their receipts, in the same transaction");
  for (const cart of carts) {
    try {
      const { orderId, taskId } = await placeOrder(db, cart);
      say(`order ${orderId} of ${cart.email} is committed, and task ${taskId} with it`);
    } catch (error) {
      if (!(error instanceof CardDeclined)) throw error;
      say(`the card of ${cart.email} is declined: order and task are rolled back; their numbers stay used up`);
    }
  }
  await outcomes.reach(6, sendReceipt, "done");
}
