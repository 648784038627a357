import { asc } from "drizzle-orm";
import * as v from "valibot";
import { bindingOf } from "../queries/create.ts";
import { checkSpec, ofSpec } from "../queries/of-spec.ts";
import type { Pgqueue } from "../queries/pgqueue.ts";
import { type Db, primary } from "../queries/statement.ts";
import { type Task, taskFields } from "../queries/task.ts";
import { checkOptions } from "../tasks/options.ts";
import type { Spec } from "../tasks/spec.ts";
import { pgqueueOf } from "./pgqueue-of.ts";

/** A task of a spec, with its payload as it is stored. */
export interface EnqueuedTask<Payload = unknown> extends Task<Record<string, unknown>> {
  readonly payload: Payload;
}

export interface EnqueuedOptions {
  /** Whose tables to look into. Default: those that this database has; needed where it has several. */
  pgqueue?: Pgqueue<any, any> | undefined;
}

/**
 * The tasks of a spec, whatever their status, in the order in which they were enqueued.
 *
 * @throws OptionsError when the database has several sets of tables and none is named; when it is no database of Drizzle's on
 * Postgres, or the spec or an option is none.
 * @throws ConflictError when the transaction that it is given has ended, where the driver shows it.
 * @example
 * const [task] = await enqueued(db, sendReceipt);
 * expect(task?.payload.orderId).toBe(7);
 */
export async function enqueued<In>(
  db: Db,
  spec: Spec<In, any>,
  options: EnqueuedOptions = {},
): Promise<EnqueuedTask<In>[]> {
  checkSpec("enqueued", spec);
  checkOptions("enqueued", enqueuedOptions, options);
  const handle = primary("enqueued", db);
  const binding = bindingOf("enqueued", options.pgqueue ?? (await pgqueueOf("enqueued", handle)));
  const rows = await handle
    .select(taskFields(binding))
    .from(binding.tasks)
    .where(ofSpec(binding, spec))
    .orderBy(asc(binding.tasks.id));
  // As their schema checked them when they were enqueued.
  return rows as unknown as EnqueuedTask<In>[];
}

const enqueuedOptions = v.strictObject({ pgqueue: v.optional(v.unknown()) });
