import { createPgqueue } from "pgqueue";
import { queues, tasks } from "./schema.ts";

/** Every statement of the queue, bound to the shop's tables. */
export const pgqueue = createPgqueue({ tasks, queues });
