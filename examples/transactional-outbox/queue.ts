import { createPgqueue, defineJob } from "pgqueue";
import * as v from "valibot";
import { queues, tasks } from "./schema.ts";

export const pgqueue = createPgqueue({ tasks, queues });

export const shipOrder = defineJob({
  queue: "ship-order",
  payload: v.object({ orderId: v.number(), item: v.string() }),
});
