import { eq } from "drizzle-orm";
import type { Binding } from "./binding.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";
import { type Task, taskFields } from "./task.ts";
import { checkTaskId } from "./task-id.ts";

export function getTask(binding: Binding, db: Db, id: number): Statement<Task> {
  checkTaskId("getTask", id);
  const { tasks } = binding;
  return statement(primary("getTask", db).select(taskFields(binding)).from(tasks).where(eq(tasks.id, id)));
}
