import { sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";
import { noClaim } from "./no-claim.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";
import { type Task, taskFields } from "./task.ts";
import { checkTaskId } from "./task-id.ts";

export function disable(binding: Binding, db: Db, id: number): Statement<Task> {
  checkTaskId("disable", id);
  const { tasks } = binding;
  return statement(
    primary("disable", db)
      .update(tasks)
      .set({ status: sql`'disabled'`, ...noClaim })
      .where(sql`${tasks.id} = ${id} and ${tasks.status} in ('pending', 'running')`)
      .returning(taskFields(binding)),
  );
}
