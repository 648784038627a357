import { eq, sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";
import { announcement } from "./notify.ts";
import type { QueueState } from "./pause-queue.ts";
import { type Queue, queueName } from "./queue-name.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

export function resumeQueue({ queues, notifies }: Binding, db: Db, queue: Queue): Statement<QueueState> {
  const name = queueName("resumeQueue", queue);
  const handle = primary("resumeQueue", db);
  const announced = announcement(handle, notifies.onUpdate, sql`${name}::text`);
  return statement(
    handle
      .with(announced)
      .update(queues)
      .set({ pausedAt: null })
      .from(sql`pgqueue_announced`)
      .where(eq(queues.queue, name))
      .returning({ queue: queues.queue, pausedAt: queues.pausedAt }),
  );
}
