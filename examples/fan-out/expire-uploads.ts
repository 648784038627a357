import { lt, sql } from "drizzle-orm";
import { db } from "./db.ts";
import { pgqueue, removeFile } from "./queue.ts";
import { uploads } from "./schema.ts";

/** Deletes the rows and enqueues the removal of their files, in one statement. Returns how many. */
export async function expireUploads(): Promise<number> {
  const expired = db
    .$with("expired")
    .as(db.delete(uploads).where(lt(uploads.expiresAt, sql`now()`)).returning({ path: uploads.path }));
  const removals = db
    .with(expired)
    .select({ payload: { path: expired.path } })
    .from(expired);
  const added = await pgqueue.enqueueFrom(db, removeFile, removals);
  return added.length;
}
