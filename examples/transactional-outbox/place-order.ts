import { db } from "./db.ts";
import { pgqueue, shipOrder } from "./queue.ts";
import { orders } from "./schema.ts";

export interface Cart {
  id: string;
  item: string;
}

/** The order and its task are committed together, or neither is. */
export async function placeOrder(cart: Cart, charge: (orderId: number) => Promise<void>): Promise<number> {
  return db.transaction(async (tx) => {
    const [order] = await tx.insert(orders).values({ cart: cart.id, item: cart.item }).returning();
    await pgqueue.enqueue(tx, shipOrder, { orderId: order!.id, item: order!.item });
    await charge(order!.id);
    return order!.id;
  });
}

/** The same in one statement: one round trip, and no transaction to hold open. */
export async function placeOrderAtOnce(cart: Cart): Promise<void> {
  const placed = db
    .$with("placed")
    .as(db.insert(orders).values({ cart: cart.id, item: cart.item }).returning({ id: orders.id, item: orders.item }));
  const task = db
    .with(placed)
    .select({ payload: { orderId: placed.id, item: placed.item } })
    .from(placed);
  await pgqueue.enqueueFrom(db, shipOrder, task);
}
