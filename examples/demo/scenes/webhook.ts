import type { Db } from "../database.ts";
import { recordPayment } from "../jobs.ts";
import { say, scene } from "../narrator.ts";
import type { Outcomes } from "../outcomes.ts";
import { pgqueue } from "../queue.ts";

/** A hash makes a task the only one of its kind, as long as its row is kept. */
export async function webhook(db: Db, outcomes: Outcomes): Promise<void> {
  scene("A webhook is delivered four times, and handled once");
  const deliver = async () => {
    const { id, status, deduplicated } = await pgqueue.enqueue(db, recordPayment, { event: "evt_81", cents: 1250 });
    say(`delivery of evt_81: task ${id}, ${deduplicated ? `there already, ${status}` : "new"}`);
  };
  for (let delivery = 1; delivery <= 3; delivery++) await deliver();
  await outcomes.reach(1, recordPayment, "done");
  await deliver();
}
