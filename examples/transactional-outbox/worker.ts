import { createWorker, fail, retry, type Worker, type WorkerEvent } from "pgqueue";
import { db } from "./db.ts";
import { pgqueue, shipOrder } from "./queue.ts";

/** Delivers at least once. The key lets the receiver tell a repetition from a new order. */
export function createShippingWorker(url: string, onEvent: (event: WorkerEvent) => void): Worker {
  const worker = createWorker({ db, pgqueue, onEvent });
  worker.register(shipOrder, async ({ payload }, { signal }) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": `order-${payload.orderId}` },
      body: JSON.stringify(payload),
      signal,
    });
    if (response.ok) return;
    const refusal = new Error(`the warehouse answered ${response.status}`);
    const mayPass = response.status >= 500 || response.status === 429;
    return mayPass ? retry(refusal) : fail(refusal);
  });
  return worker;
}
