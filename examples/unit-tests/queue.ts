import { createPgqueue, defineJob, defineTicker } from "pgqueue";
import * as v from "valibot";
import { queues, tasks } from "./schema.ts";

export const pgqueue = createPgqueue({ tasks, queues });

export const sendReceipt = defineJob({
  queue: "send-receipt",
  payload: v.object({ orderId: v.number(), to: v.string() }),
});

export const askForReview = defineJob({
  queue: "ask-for-review",
  payload: v.object({ orderId: v.number() }),
});

export const reportSales = defineTicker({
  queue: "report-sales",
  key: "shop",
  every: "1d",
  payload: v.object({ reports: v.number() }),
  initialPayload: { reports: 0 },
});
