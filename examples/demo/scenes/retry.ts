import type { Db } from "../database.ts";
import { sendReceipt } from "../jobs.ts";
import { say, scene } from "../narrator.ts";
import type { Outcomes } from "../outcomes.ts";
import { pgqueue } from "../queue.ts";
import { placeOrder } from "./place-order.ts";

/** A run that fails comes again after attempt × retryDelay; what went wrong stays on the row. */
export async function retryLater(db: Db, outcomes: Outcomes): Promise<void> {
  scene("A handler fails, and is tried again");
  const { taskId } = await placeOrder(db, { email: "ivy@away.example", cents: 640 });
  await outcomes.reach(1, sendReceipt, "retry");
  const [waiting] = await pgqueue.getTask(db, taskId);
  say(`task ${taskId} is ${waiting!.status}, to run ${sendReceipt.retryDelay} ms after its failure`);
  await outcomes.reach(7, sendReceipt, "done");
  const [task] = await pgqueue.getTask(db, taskId);
  say(`task ${taskId} is ${task!.status}; its row remembers: "${task!.errors![0]!.message}"`);
}
