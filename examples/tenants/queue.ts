import { createPgqueue, defineJob } from "pgqueue";
import * as v from "valibot";
import { queues, tasks } from "./schema.ts";

export const pgqueue = createPgqueue({ tasks, queues });

/** A hash is unique in its queue over all tenants, so it has to hold what tells them apart: here the invoice does. */
export const sendInvoice = defineJob({
  queue: "send-invoice",
  payload: v.object({ invoiceId: v.number() }),
  hash: ({ invoiceId }) => `invoice:${invoiceId}`,
});
