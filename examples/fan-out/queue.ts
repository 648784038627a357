import { createPgqueue, defineJob } from "pgqueue";
import * as v from "valibot";
import { queues, tasks } from "./schema.ts";

export const pgqueue = createPgqueue({ tasks, queues });

export const sendIssue = defineJob({
  queue: "send-issue",
  payload: v.object({ title: v.string(), to: v.string() }),
});

export const removeFile = defineJob({
  queue: "remove-file",
  payload: v.object({ path: v.string() }),
});
