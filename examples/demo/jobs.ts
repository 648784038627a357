import { defineJob, defineTicker } from "pgqueue";
import * as v from "valibot";

export const sendReceipt = defineJob({
  queue: "send-receipt",
  payload: v.object({ orderId: v.number(), to: v.pipe(v.string(), v.email()) }),
  hash: ({ orderId }) => `receipt:${orderId}`,
  retryDelay: "400ms",
});

/** Copies new orders to the ledger. The payload is its memory: where it got to. */
export const syncLedger = defineTicker({
  queue: "sync-ledger",
  key: "main",
  every: "250ms",
  payload: v.object({ lastOrderId: v.number() }),
  initialPayload: { lastOrderId: 0 },
});

/** As it was deployed last year: an address was one line of text. */
export const printLabelOfLastYear = defineJob({
  queue: "print-label",
  payload: v.object({ orderId: v.number(), address: v.string() }),
});

/** As it is deployed today. */
export const printLabel = defineJob({
  queue: "print-label",
  payload: v.object({ orderId: v.number(), address: v.object({ street: v.string(), city: v.string() }) }),
});

export const recordPayment = defineJob({
  queue: "record-payment",
  payload: v.object({ event: v.string(), cents: v.number() }),
  hash: ({ event }) => event,
});

/** A lease this short is for the demo only. */
export const countStock = defineJob({
  queue: "count-stock",
  payload: v.object({ shelf: v.string() }),
  leaseDuration: "500ms",
  retryDelay: 0,
});
