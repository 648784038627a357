import type { Db } from "../database.ts";
import { sendReceipt, syncLedger } from "../jobs.ts";
import { say, scene } from "../narrator.ts";
import type { Outcomes } from "../outcomes.ts";
import { pgqueue } from "../queue.ts";
import { ledger, orders } from "../schema.ts";
import { placeOrder } from "./place-order.ts";

/** A ticker is one row that runs again and again. Its payload is kept, so it can be a cursor. */
export async function ticker(db: Db, outcomes: Outcomes): Promise<void> {
  scene("A ticker keeps a cursor and catches up, three orders a tick");
  for (const name of ["jo", "kim", "lea", "max"]) await placeOrder(db, { email: `${name}@example.com`, cents: 500 });
  say("four more orders are placed");
  for (let ticks = 1; (await db.$count(ledger)) < (await db.$count(orders)); ticks++) {
    await outcomes.reach(ticks, syncLedger, "done");
  }
  const [row] = await pgqueue.listTasks(db, { queue: syncLedger });
  say(`the ledger holds every order; the ticker is still task ${row!.id}, now ${row!.status} for its next tick`);
  await outcomes.reach(11, sendReceipt, "done");
}
