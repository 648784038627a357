import { createPgqueue, defineTicker } from "pgqueue";
import * as v from "valibot";
import { queues, tasks } from "./schema.ts";

export const pgqueue = createPgqueue({ tasks, queues });

export const importContacts = defineTicker({
  queue: "import-contacts",
  key: "crm",
  every: "1m",
  payload: v.object({ cursor: v.number() }),
  initialPayload: { cursor: 0 },
});
