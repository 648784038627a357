import * as v from "valibot";
import { OptionsError } from "../errors.ts";
import { checkOptions } from "../tasks/options.ts";
import { type Binding, bind } from "./binding.ts";
import { claim } from "./claim.ts";
import { disable } from "./disable.ts";
import { enable } from "./enable.ts";
import { enqueue } from "./enqueue.ts";
import { enqueueFrom } from "./enqueue-from.ts";
import { enqueueMany } from "./enqueue-many.ts";
import { type Executable, explained, explaining } from "./explained.ts";
import { extendLease } from "./extend-lease.ts";
import { finalize } from "./finalize.ts";
import { finalizeOrThrow } from "./finalize-or-throw.ts";
import { getTask } from "./get-task.ts";
import { heldBy } from "./held-by.ts";
import { listTasks } from "./list-tasks.ts";
import { markStarted } from "./mark-started.ts";
import type { AnyQueues, AnyTasks, ExtraInsert, ExtraSelect } from "./own-columns.ts";
import { pauseQueue } from "./pause-queue.ts";
import type { Pgqueue } from "./pgqueue.ts";
import { purge } from "./purge.ts";
import { reap } from "./reap.ts";
import { release } from "./release.ts";
import { releaseClaim } from "./release-claim.ts";
import { replacePayload } from "./replace-payload.ts";
import { requeue } from "./requeue.ts";
import { resumeQueue } from "./resume-queue.ts";
import { type Db, type DrizzleDb, primary } from "./statement.ts";
import { stats } from "./stats.ts";
import { quotedName } from "./table-name.ts";
import { upsertTicker } from "./upsert-ticker.ts";

export interface PgqueueOptions<Tasks extends AnyTasks> {
  /** Your task table. */
  tasks: Tasks;
  /** Your queue table. */
  queues: AnyQueues;
  /** Whether new work is announced with NOTIFY, so that listening workers take it at once. Default true. */
  notify?: boolean;
}

type AnyStatement = (binding: Binding, db: DrizzleDb, ...args: unknown[]) => unknown;

/** Drizzle query builders. */
const builders = {
  claim,
  disable,
  enable,
  enqueueFrom,
  extendLease,
  // Without the option that is for finalizeOrThrow.
  finalize: (...[binding, db, spec, outcomes]: Parameters<typeof finalize>) => finalize(binding, db, spec, outcomes),
  getTask,
  listTasks,
  markStarted,
  pauseQueue,
  purge,
  reap,
  release,
  releaseClaim,
  requeue,
  resumeQueue,
  stats,
};

/** What takes more than one statement, or a look at its answer. */
const calls = {
  enqueue,
  enqueueMany,
  finalizeOrThrow,
  heldBy,
  replacePayload,
  upsertTicker,
};

const pgqueueOptions = v.strictObject({
  tasks: v.unknown(),
  queues: v.unknown(),
  notify: v.optional(v.boolean()),
});

/**
 * Binds every statement to your own tables. The functions need no `this`, so they can be taken apart and exported.
 *
 * @throws OptionsError when a table is not one of `pgqueueTables`.
 * @example
 * export const pgqueue = createPgqueue({ tasks, queues });
 * export const { enqueue } = pgqueue;
 */
export function createPgqueue<Tasks extends AnyTasks>(
  options: PgqueueOptions<Tasks>,
): Pgqueue<ExtraSelect<Tasks>, ExtraInsert<Tasks>> {
  checkOptions("createPgqueue", pgqueueOptions, options);
  const binding = bind(options, options.notify ?? true);
  const bound = {
    ...bindAll(builders, (name, statement) => (db, ...args) => {
      const handle = primary(name, db);
      return explaining(binding, handle, statement(binding, handle, ...args) as Executable, {
        hasUsersSelect: name === "enqueueFrom",
      });
    }),
    ...bindAll(calls, (name, statement) => async (db, ...args) => {
      try {
        return await statement(binding, primary(name, db), ...args);
      } catch (error) {
        throw explained(binding, error);
      }
    }),
  };
  // The one cast from statements that know no types of the user's to those that do.
  const pgqueue = bound as unknown as Pgqueue<ExtraSelect<Tasks>, ExtraInsert<Tasks>>;
  bindings.set(pgqueue, binding);
  latest.set(quotedName(options.tasks), pgqueue);
  return pgqueue;
}

const bindings = new WeakMap<Pgqueue<any, any>, Binding>();
const latest = new Map<string, Pgqueue<any, any>>();

/**
 * What statements are bound to.
 *
 * @param call what an error names
 * @throws OptionsError when they are not what createPgqueue returned.
 */
export function bindingOf(call: string, pgqueue: Pgqueue<any, any>): Binding {
  const binding = bindings.get(pgqueue);
  if (!binding) throw new OptionsError(`${call}.pgqueue`, pgqueue, "what createPgqueue returned");
  return binding;
}

/** The statements that were made last for each task table, by its name in SQL. For `pgqueue/testing`. */
export function latestPgqueues(): { table: string; pgqueue: Pgqueue<any, any> }[] {
  return [...latest].map(([table, pgqueue]) => ({ table, pgqueue }));
}

function bindAll(
  statements: Record<string, unknown>,
  bindOne: (name: string, statement: AnyStatement) => (db: Db, ...args: unknown[]) => unknown,
) {
  return Object.fromEntries(
    Object.entries(statements).map(([name, statement]) => [name, bindOne(name, statement as AnyStatement)]),
  );
}
