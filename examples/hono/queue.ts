import { createPgqueue, defineJob } from "pgqueue";
import * as v from "valibot";
import { queues, tasks } from "./schema.ts";

export const pgqueue = createPgqueue({ tasks, queues });

export const sendReceipt = defineJob({
  queue: "send-receipt",
  payload: v.object({ orderId: v.number(), to: v.string() }),
});
