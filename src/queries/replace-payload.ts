import { sql } from "drizzle-orm";
import { ConflictError } from "../errors.ts";
import { encodePayload } from "../tasks/payload.ts";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { checkSpec, ofSpec } from "./of-spec.ts";
import { type Db, primary, uncached } from "./statement.ts";
import { type Task, taskFields } from "./task.ts";
import { checkTaskId } from "./task-id.ts";

/** @returns the row as it is now, or undefined when the queue has no such task */
export async function replacePayload(
  binding: Binding,
  db: Db,
  spec: Spec,
  id: number,
  payload: unknown,
): Promise<Task | undefined> {
  checkSpec("replacePayload", spec);
  checkTaskId("replacePayload", id);
  const { json } = encodePayload(spec, payload);
  const { tasks } = binding;
  const handle = primary("replacePayload", db);
  const isTask = sql`${ofSpec(binding, spec)} and ${tasks.id} = ${id}`;

  const [replaced] = await handle
    .update(tasks)
    .set({ payload: sql`${json}::text::jsonb` })
    .where(sql`${isTask} and ${tasks.status} <> 'running'`)
    .returning(taskFields(binding));
  if (replaced) return replaced as Task;

  const [running] = await uncached(handle.select({ id: tasks.id }).from(tasks).where(isTask));
  if (!running) return undefined;
  throw new ConflictError(
    `task ${id} of queue "${spec.queue}" is running, and its end would overwrite the payload: disable(db, ${id}) first, then replacePayload, then enable`,
  );
}
