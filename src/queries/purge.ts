import { sql } from "drizzle-orm";
import * as v from "valibot";
import { type Duration, milliseconds } from "../tasks/duration.ts";
import { checkOptions, durationOption, integerOption } from "../tasks/options.ts";
import type { Binding } from "./binding.ts";
import { after } from "./clock.ts";
import { type Queue, queueName } from "./queue-name.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

export interface PurgeOptions {
  /** A queue's name, or a spec of its tasks. */
  queue: Queue;
  status: "completed" | "failed";
  /** Time since the task ended. */
  olderThan: Duration;
  /** At most so many rows: 1 to 100,000. */
  limit: number;
}

const purgeOptions = v.strictObject({
  queue: v.unknown(),
  status: v.picklist(["completed", "failed"]),
  olderThan: durationOption(0),
  limit: integerOption(1, 100_000),
});

/** The rows are locked before they go: deleting by a sub-select that takes no lock removed a row just enabled. */
export function purge({ tasks }: Binding, db: Db, options: PurgeOptions): Statement<{ id: number }> {
  checkOptions("purge", purgeOptions, options);
  const queue = queueName("purge", options.queue);
  const age = milliseconds("purge.olderThan", options.olderThan);
  const status = options.status === "completed" ? sql`'completed'` : sql`'failed'`;
  const handle = primary("purge", db);

  const finished = handle.$with("finished", { id: sql<number>`id` }).as(sql`
    select ${tasks.id} from ${tasks}
    where ${tasks.queue} = ${queue} and ${tasks.status} = ${status} and ${tasks.kind} = 'job'
      and ${tasks.finishedAt} < ${after(-age)}
    order by ${tasks.finishedAt} limit ${options.limit}::int
    for update skip locked`);

  return statement(
    handle
      .with(finished)
      .delete(tasks)
      .where(sql`${tasks.queue} = ${queue} and ${tasks.id} = any(array(select id from finished))`)
      .returning({ id: tasks.id }),
  );
}
