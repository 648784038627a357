import { and, desc, eq, lt, type SQL, sql } from "drizzle-orm";
import * as v from "valibot";
import { type TaskKind, type TaskStatus, taskKinds, taskStatuses } from "../schema/columns.ts";
import { checkOptions, integerOption } from "../tasks/options.ts";
import type { Binding } from "./binding.ts";
import { conditionOption } from "./condition.ts";
import { type Queue, queueName } from "./queue-name.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";
import { type Task, taskFields } from "./task.ts";

export interface TaskFilter {
  /** A queue's name, or a spec of its tasks. Default: all queues. */
  queue?: Queue | undefined;
  status?: TaskStatus | undefined;
  kind?: TaskKind | undefined;
  /** A further condition, over your own columns for example. */
  where?: SQL | undefined;
  /** The page after the task of this id: tasks come with the highest id first. */
  before?: number | undefined;
  /** At most so many: 1 to 10,000. Default 100. */
  limit?: number | undefined;
}

const filterOptions = v.strictObject({
  queue: v.optional(v.unknown()),
  status: v.optional(v.picklist(taskStatuses)),
  kind: v.optional(v.picklist(taskKinds)),
  where: v.optional(conditionOption),
  before: v.optional(integerOption(0, Number.MAX_SAFE_INTEGER)),
  limit: v.optional(integerOption(1, 10_000)),
});

export function listTasks(binding: Binding, db: Db, filter: TaskFilter = {}): Statement<Task> {
  checkOptions("listTasks", filterOptions, filter);
  const { tasks } = binding;
  const { queue, status, kind, where, before, limit = 100 } = filter;
  return statement(
    primary("listTasks", db)
      .select(taskFields(binding))
      .from(tasks)
      .where(
        and(
          queue === undefined ? undefined : eq(tasks.queue, queueName("listTasks", queue)),
          status && sql`${tasks.status} = ${sql.raw(`'${status}'`)}`,
          kind && eq(tasks.kind, kind),
          before === undefined ? undefined : lt(tasks.id, before),
          where && sql`(${where})`,
        ),
      )
      .orderBy(desc(tasks.id))
      .limit(limit),
  );
}
