import { setTimeout as wait } from "node:timers/promises";
import { type Claimed, done, fail, StaleClaimError } from "pgqueue";
import type { Db } from "../database.ts";
import { countStock } from "../jobs.ts";
import { say, scene } from "../narrator.ts";
import { pgqueue } from "../queue.ts";
import { stockCounts } from "../schema.ts";

/** Whoever ends a claim must still hold it. Here the statements are used by hand, without a worker. */
export async function staleHolder(db: Db): Promise<void> {
  scene("A holder that took too long changes nothing");
  await pgqueue.enqueue(db, countStock, { shelf: "A" });
  const [late] = await pgqueue.claim(db, countStock, { limit: 1, workerId: "the late one" });
  say(`the late one claims task ${late!.id}, with a lease of ${countStock.leaseDuration} ms, and hangs`);

  while ((await pgqueue.reap(db, countStock)).length === 0) await wait(20);
  say("its lease is over: reap makes the task pending again");

  const [next] = await pgqueue.claim(db, countStock, { limit: 1, workerId: "the next one" });
  await countShelf(db, next!, "the next one");
  say("the next one claims it, counts the shelf and finalizes it");

  const applied = await pgqueue.finalize(db, countStock, { task: late!, result: fail("too slow") });
  const [held] = await pgqueue.heldBy(db, countStock, [late!]);
  say(`the late one wakes up. Its finalize changes ${applied.length} rows: the claim is ${held!.holding}`);

  try {
    await countShelf(db, late!, "the late one");
  } catch (error) {
    if (!(error instanceof StaleClaimError)) throw error;
    say(`it tries again with finalizeOrThrow, and its transaction rolls back. ${error.name}: ${error.message}`);
  }
}

function countShelf(db: Db, task: Claimed<{ shelf: string }>, countedBy: string): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.insert(stockCounts).values({ shelf: task.payload.shelf, countedBy });
    await pgqueue.finalizeOrThrow(tx, countStock, { task, result: done() });
  });
}
