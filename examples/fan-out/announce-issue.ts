import { eq, sql } from "drizzle-orm";
import { db } from "./db.ts";
import { pgqueue, sendIssue } from "./queue.ts";
import { issues, subscribers } from "./schema.ts";

/**
 * A task for each active subscriber, due when the issue is, in one statement: no row leaves Postgres. Safe to call again:
 * who has a task already is left out. Returns how many were added.
 */
export async function announceIssue(id: number): Promise<number> {
  const addressed = db
    .select({
      payload: { title: issues.title, to: subscribers.email },
      hash: sql<string>`${issues.id} || ':' || ${subscribers.id}`,
      runAt: issues.sendAt,
    })
    .from(issues)
    .innerJoin(subscribers, eq(subscribers.isActive, true))
    .where(eq(issues.id, id));
  const added = await pgqueue.enqueueFrom(db, sendIssue, addressed);
  return added.length;
}
