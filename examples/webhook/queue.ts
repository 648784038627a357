import { createPgqueue, defineJob } from "pgqueue";
import * as v from "valibot";
import { queues, tasks } from "./schema.ts";

export const pgqueue = createPgqueue({ tasks, queues });

export const PaymentEvent = v.object({
  id: v.string(),
  invoiceId: v.pipe(v.number(), v.integer()),
  cents: v.pipe(v.number(), v.integer(), v.minValue(1)),
});

/** The hash is held as long as the task's row is kept: an event that comes again weeks later is known. */
export const recordPayment = defineJob({
  queue: "record-payment",
  payload: PaymentEvent,
  hash: (event) => event.id,
  retain: { completed: "30d" },
});
