import { eq, sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";
import { statementTime } from "./clock.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

/** Counts of one queue. */
export interface QueueStats {
  readonly queue: string;
  readonly pending: number;
  /** The pending tasks whose time has come. */
  readonly due: number;
  readonly running: number;
  readonly completed: number;
  readonly failed: number;
  readonly disabled: number;
  /** `run_at` of the due task that waits longest. */
  readonly oldestDue: Date | null;
  readonly pausedAt: Date | null;
}

export function stats({ tasks, queues }: Binding, db: Db): Statement<QueueStats> {
  const count = (condition: ReturnType<typeof sql>, name: string) =>
    sql<number>`count(*) filter (where ${condition})`.mapWith(Number).as(name);
  const isDue = sql`${tasks.status} = 'pending' and ${tasks.runAt} <= ${statementTime()}`;
  return statement(
    primary("stats", db)
      .select({
        queue: tasks.queue,
        pending: count(sql`${tasks.status} = 'pending'`, "pending"),
        due: count(isDue, "due"),
        running: count(sql`${tasks.status} = 'running'`, "running"),
        completed: count(sql`${tasks.status} = 'completed'`, "completed"),
        failed: count(sql`${tasks.status} = 'failed'`, "failed"),
        disabled: count(sql`${tasks.status} = 'disabled'`, "disabled"),
        oldestDue: sql<Date | null>`min(${tasks.runAt}) filter (where ${isDue})`.mapWith(tasks.runAt).as("oldest_due"),
        pausedAt: queues.pausedAt,
      })
      .from(tasks)
      .leftJoin(queues, eq(queues.queue, tasks.queue))
      .groupBy(tasks.queue, queues.pausedAt)
      .orderBy(tasks.queue),
  );
}
