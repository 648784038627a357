import { createWorker, done, type WorkerEvent } from "pgqueue";
import { db } from "./db.ts";
import { importContacts, pgqueue } from "./queue.ts";
import { contacts } from "./schema.ts";
import type { Source } from "./source.ts";

/** Where a process may die. */
export type Moment = "before the commit" | "after the commit";

/** Imports one page at each tick. */
export function createImporter(source: Source, reach: (moment: Moment) => void, onEvent: (event: WorkerEvent) => void) {
  const worker = createWorker({ db, pgqueue, onEvent });
  worker.register(importContacts, async (job, ctx) => {
    const page = await source.pageAfter(job.payload.cursor, ctx.signal);
    if (page.length === 0) return done();

    // The page and the cursor are committed together: no contact is left out, and none comes twice.
    await db.transaction(async (tx) => {
      await tx.insert(contacts).values(page);
      job.payload.cursor = page.at(-1)!.id;
      await ctx.finalize(tx, done());
      reach("before the commit");
    });
    reach("after the commit");
  });
  return worker;
}
