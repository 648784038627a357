import { drain } from "pgqueue/testing";
import { close, db } from "./db.ts";
import { placeOrder, placeOrderAtOnce } from "./place-order.ts";
import { orders, tasks } from "./schema.ts";
import { openWarehouse } from "./warehouse.ts";
import { createShippingWorker } from "./worker.ts";

async function look(after: string): Promise<void> {
  console.log(`${after}: orders ${await db.$count(orders)}, tasks ${await db.$count(tasks)}`);
}

const declined = async () => {
  throw new Error("the card was declined");
};

const warehouse = await openWarehouse();
try {
  await placeOrder({ id: "a", item: "kettle" }, declined).catch(() => {});
  await look("a declined card");

  await placeOrder({ id: "b", item: "teapot" }, async () => {});
  await look("an order");

  await placeOrderAtOnce({ id: "c", item: "cup" });
  await look("an order in one statement");

  await placeOrderAtOnce({ id: "c", item: "cup" }).catch(() => {});
  await look("the same cart once more");

  const worker = createShippingWorker(warehouse.url, (event) => {
    if (event.type !== "settled") return console.error(event);
    console.log(`task ${event.taskId}, try ${event.attempt}: ${event.result}`);
  });
  // A retry comes after 30 seconds. Here time is moved on instead.
  await drain(worker, { until: "1m" });
  console.log(`the warehouse was asked ${warehouse.requests} times, and shipped ${warehouse.shipments.size} orders`);
} finally {
  warehouse.close();
  await close();
}
