import { type SQL, sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";
import { noClaim } from "./no-claim.ts";
import { announcement } from "./notify.ts";
import { type Db, lockName, primary, type Statement, statement } from "./statement.ts";
import { type Task, taskFields } from "./task.ts";
import { checkTaskId } from "./task-id.ts";

/**
 * Makes a task pending again with all its tries. It takes its hash again; while another row holds that, which only
 * "active" dedup lets happen, the task stays as it is.
 */
export function revive(
  call: string,
  binding: Binding,
  db: Db,
  id: number,
  { when, runAt }: { when: SQL; runAt: SQL },
): Statement<Task> {
  checkTaskId(call, id);
  const { tasks, notifies } = binding;
  const handle = primary(call, db);

  const revived = handle.$with("revived", { id: sql<number>`id` }).as(sql`
    select ${tasks.id} as id, ${tasks.queue} as queue from ${tasks}
    where ${tasks.id} = ${id} and ${when} and (${tasks.hash} is null or ${tasks.hashHeld} or not exists (
      select 1 from ${tasks} as other
      where other.queue = ${tasks.queue} and other.hash = ${tasks.hash} and other.hash_held offset 0))
    for no key update of ${lockName(tasks)}`);
  const announced = announcement(handle, notifies.onUpdate, sql`queue`, sql`from revived`);

  return statement(
    handle
      .with(revived, announced)
      .update(tasks)
      .set({
        status: sql`'pending'`,
        attempt: 0,
        runAt,
        hashHeld: sql`${tasks.hash} is not null`,
        finishedAt: null,
        ...noClaim,
      })
      .from(sql`revived cross join pgqueue_announced`)
      .where(sql`${tasks.queue} = revived.queue and ${tasks.id} = revived.id`)
      .returning(taskFields(binding)),
  );
}
