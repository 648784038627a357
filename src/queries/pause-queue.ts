import { sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";
import { statementTime } from "./clock.ts";
import { type Queue, queueName } from "./queue-name.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

/** A queue's row. */
export interface QueueState {
  readonly queue: string;
  /** Since when it is paused; null when it is not. */
  readonly pausedAt: Date | null;
}

export function pauseQueue({ queues }: Binding, db: Db, queue: Queue): Statement<QueueState> {
  return statement(
    primary("pauseQueue", db)
      .insert(queues)
      .values({ queue: queueName("pauseQueue", queue), pausedAt: statementTime() })
      .onConflictDoUpdate({
        target: queues.queue,
        set: { pausedAt: sql`coalesce(${queues.pausedAt}, excluded.paused_at)` },
      })
      .returning({ queue: queues.queue, pausedAt: queues.pausedAt }),
  );
}
