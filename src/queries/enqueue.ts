import { type SQL, sql } from "drizzle-orm";
import { ConflictError } from "../errors.ts";
import type { TaskStatus } from "../schema/columns.ts";
import type { JobSpec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { after, moment, statementTime } from "./clock.ts";
import { type BaseEnqueueOptions, checkJobSpec, type NewTask, newTask } from "./enqueue-options.ts";
import { type Enqueued, hiddenHolder, mostRounds } from "./enqueued.ts";
import { holderOf } from "./holder.ts";
import { extraParams, extraValues, insertTasks } from "./insertion.ts";
import { notify } from "./notify.ts";
import { type Db, type DrizzleDb, primary, uncached } from "./statement.ts";

export async function enqueue(
  binding: Binding,
  db: Db,
  spec: JobSpec,
  payload: unknown,
  options?: BaseEnqueueOptions,
): Promise<Enqueued> {
  checkJobSpec("enqueue", spec);
  const task = newTask("enqueue", spec, payload, options);
  const values = taskValues(binding, spec, task);
  const handle = primary("enqueue", db);

  const { hash } = task;
  if (hash === null) {
    const [inserted] = await insertion(binding, handle, values, { unique: "none" });
    if (inserted) return { id: inserted.id, status: inserted.status, deduplicated: false };
    throw new ConflictError(`enqueue into "${spec.queue}" inserted nothing; look for a trigger or rule on the table`);
  }
  const attempt = spec.dedup === "retained" ? readThenInsert : insertThenRead;
  for (let round = 0; round < mostRounds; round++) {
    const [enqueued] = await attempt(binding, handle, spec.queue, hash, values);
    if (enqueued) return enqueued;
  }
  throw hiddenHolder(spec.queue, hash);
}

function taskValues(binding: Binding, spec: JobSpec, task: NewTask): Record<string, SQL> {
  const runAt = task.runAt ? moment(task.runAt) : task.delay > 0 ? after(task.delay) : statementTime();
  const values: Record<string, SQL> = {
    queue: sql`${spec.queue}::text`,
    payload: sql`${task.payload}::text::jsonb`,
    runAt,
    createdAt: statementTime(),
  };
  if (task.hash !== null) {
    values.hash = sql`${task.hash}::text`;
    values.hashHeld = sql`true`;
  }
  if (task.priority !== 0) values.priority = sql`${task.priority}::smallint`;
  if (task.maxRetries !== null) values.maxRetries = sql`${task.maxRetries}::smallint`;
  if (task.meta !== null) values.meta = sql`${task.meta}::text::jsonb`;
  return { ...values, ...extraParams(binding, extraValues("enqueue", binding, task.columns)) };
}

function insertion(
  binding: Binding,
  handle: DrizzleDb,
  values: Record<string, SQL>,
  options: { source?: SQL; unique: "hash" | "none" },
) {
  const { tasks, notifies } = binding;
  return insertTasks(binding, handle, values, options).returning({
    id: tasks.id,
    status: tasks.status,
    ...(notifies.onInsert
      ? {
          announced: sql`case when ${tasks.runAt} <= ${statementTime()} then ${notify(sql`${tasks.queue}`)} end`.as(
            "announced",
          ),
        }
      : {}),
  });
}

const enqueuedFields = {
  id: sql<number>`id`.mapWith(Number),
  status: sql<TaskStatus>`status`,
  deduplicated: sql<boolean>`deduplicated`,
};

/**
 * In one statement. A plain insert … on conflict would wait for any open transaction that has touched the holder, and burn
 * an id each time. No row comes back where a concurrent insert won the race.
 */
function readThenInsert(
  binding: Binding,
  handle: DrizzleDb,
  queue: string,
  hash: string,
  values: Record<string, SQL>,
): PromiseLike<Enqueued[]> {
  const holder = handle.$with("holder", { id: sql`id` }).as(holderOf(binding, queue, sql`${hash}::text`));
  const source = sql`where not exists (select 1 from holder)`;
  const inserted = handle.$with("inserted").as(insertion(binding, handle, values, { source, unique: "hash" }));
  const either = sql`(select id, status, true as deduplicated from holder
    union all select id, status, false from inserted) as enqueued`;
  return uncached(handle.with(holder, inserted).select(enqueuedFields).from(either));
}

/** The holder's row is no proof while it may end at any moment, so the insert has the first word. */
async function insertThenRead(
  binding: Binding,
  handle: DrizzleDb,
  queue: string,
  hash: string,
  values: Record<string, SQL>,
): Promise<Enqueued[]> {
  const [inserted] = await insertion(binding, handle, values, { unique: "hash" });
  if (inserted) return [{ id: inserted.id, status: inserted.status, deduplicated: false }];
  const found = sql`(${holderOf(binding, queue, sql`${hash}::text`)}) as holder
    cross join (select true as deduplicated) as found`;
  return uncached(handle.select(enqueuedFields).from(found));
}
