import { createWorker, done, type WorkerEvent } from "pgqueue";
import { db } from "./db.ts";
import { pgqueue, sendReceipt } from "./queue.ts";

/** In production it is a process of its own, or several. */
export function createReceiptWorker(
  send: (to: string, text: string) => Promise<void>,
  onEvent: (event: WorkerEvent) => void,
) {
  const worker = createWorker({ db, pgqueue, onEvent });
  worker.register(sendReceipt, async ({ payload }) => {
    await send(payload.to, `Thank you for order ${payload.orderId}.`);
    return done({ sentTo: payload.to });
  });
  return worker;
}
