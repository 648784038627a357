import type { Db } from "../database.ts";
import { printLabel, printLabelOfLastYear } from "../jobs.ts";
import { say, scene } from "../narrator.ts";
import type { Outcomes } from "../outcomes.ts";
import { pgqueue } from "../queue.ts";

/** A stored payload that no longer fits its schema fails at once, without a retry, and can be repaired. */
export async function poison(db: Db, outcomes: Outcomes): Promise<void> {
  scene("A payload from before a change of its schema is repaired");
  await pgqueue.enqueue(db, printLabelOfLastYear, { orderId: 1, address: "1 Mill Lane, Leeds" });
  say("last year's code enqueues a label: its address is one line of text");
  await outcomes.reach(1, printLabel, "fail");

  const [failed] = await pgqueue.listTasks(db, { queue: printLabel, status: "failed" });
  say(`today's code refuses it. ${failed!.errors![0]!.name}: ${failed!.errors![0]!.message}`);

  await db.transaction(async (tx) => {
    await pgqueue.replacePayload(tx, printLabel, failed!.id, {
      orderId: 1,
      address: { street: "1 Mill Lane", city: "Leeds" },
    });
    await pgqueue.enable(tx, failed!.id);
  });
  say("an operator replaces the payload and enables the task");
  await outcomes.reach(1, printLabel, "done");
}
