import { type SQL, sql } from "drizzle-orm";
import { ConflictError } from "../errors.ts";
import type { TaskStatus } from "../schema/columns.ts";
import type { JobSpec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { executedOnce } from "./built-once.ts";
import { after, statementTime } from "./clock.ts";
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
  const columns = extraParams(binding, extraValues("enqueue", binding, task.columns));
  const handle = primary("enqueue", db);
  const given = givenBy(task);
  const names = Object.keys(columns).length > 0 ? null : Object.keys(given);
  /** Sends the builder that `make` makes of the task's values. */
  const send: Send = (name, make) => {
    const at = { binding, handle, spec, shape: names && `${name} ${names}`, keepsPlan: readsNothing.has(name) };
    return executedOnce(at, given, (parameters) => make({ ...taskValues(spec, parameters), ...columns }));
  };

  const { hash } = task;
  if (hash === null) {
    const [inserted] = await send("insert", (values) => insertion(binding, handle, values, { unique: "none" }));
    if (inserted) return { id: inserted.id, status: inserted.status, deduplicated: false };
    throw new ConflictError(`enqueue into "${spec.queue}" inserted nothing; look for a trigger or rule on the table`);
  }
  const attempt = spec.dedup === "retained" ? readThenInsert : insertThenRead;
  for (let round = 0; round < mostRounds; round++) {
    const [enqueued] = await attempt(binding, handle, spec.queue, send);
    if (enqueued) return enqueued;
  }
  throw hiddenHolder(spec.queue, hash);
}

/** There is nothing to plan in them that could turn out differently. */
const readsNothing: ReadonlySet<string> = new Set(["insert", "insert held"]);

type Send = <Rows>(name: string, make: (values: Record<string, SQL>) => PromiseLike<Rows>) => Promise<Rows>;

/** What a task sets, as parameters. */
function givenBy({
  payload,
  hash,
  runAt,
  delay,
  priority,
  maxRetries,
  meta,
}: NewTask): Record<string, string | number> {
  return {
    payload,
    ...(hash !== null && { hash }),
    ...(runAt && { runAt: runAt.toISOString() }),
    ...(delay > 0 && { delay }),
    ...(priority !== 0 && { priority }),
    ...(maxRetries !== null && { maxRetries }),
    ...(meta !== null && { meta }),
  };
}

function taskValues(spec: JobSpec, given: Partial<Record<string, SQL>>): Record<string, SQL> {
  const { payload, hash, runAt, delay, priority, maxRetries, meta } = given;
  return {
    queue: sql`${spec.queue}::text`,
    payload: sql`${payload}::text::jsonb`,
    runAt: runAt ? sql`${runAt}::text::timestamptz` : delay ? after(delay) : statementTime(),
    createdAt: statementTime(),
    ...(hash && { hash: sql`${hash}::text`, hashHeld: sql`true` }),
    ...(priority && { priority: sql`${priority}::smallint` }),
    ...(maxRetries && { maxRetries: sql`${maxRetries}::smallint` }),
    ...(meta && { meta: sql`${meta}::text::jsonb` }),
  };
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
function readThenInsert(binding: Binding, handle: DrizzleDb, queue: string, send: Send): PromiseLike<Enqueued[]> {
  return send("read, insert", (values) => {
    const holder = handle.$with("holder", { id: sql`id` }).as(holderOf(binding, queue, values.hash!));
    const source = sql`where not exists (select 1 from holder)`;
    const inserted = handle.$with("inserted").as(insertion(binding, handle, values, { source, unique: "hash" }));
    const either = sql`(select id, status, true as deduplicated from holder
      union all select id, status, false from inserted) as enqueued`;
    return uncached(handle.with(holder, inserted).select(enqueuedFields).from(either));
  });
}

/** The holder's row is no proof while it may end at any moment, so the insert has the first word. */
async function insertThenRead(binding: Binding, handle: DrizzleDb, queue: string, send: Send): Promise<Enqueued[]> {
  const [inserted] = await send("insert held", (values) => insertion(binding, handle, values, { unique: "hash" }));
  if (inserted) return [{ id: inserted.id, status: inserted.status, deduplicated: false }];
  return send("read holder", ({ hash }) => {
    const found = sql`(${holderOf(binding, queue, hash!)}) as holder cross join (select true as deduplicated) as found`;
    return uncached(handle.select(enqueuedFields).from(found));
  });
}
