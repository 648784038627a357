import { asc } from "drizzle-orm";
import { OptionsError } from "../errors.ts";
import { bindingOf, latestPgqueues } from "../queries/create.ts";
import { checkSpec, ofSpec } from "../queries/of-spec.ts";
import type { Pgqueue } from "../queries/pgqueue.ts";
import { type Db, primary } from "../queries/statement.ts";
import { type Task, taskFields } from "../queries/task.ts";
import type { Spec } from "../tasks/spec.ts";

/** A task of a spec, with its payload as it is stored. */
export interface EnqueuedTask<Payload = unknown> extends Task<Record<string, unknown>> {
  readonly payload: Payload;
}

export interface EnqueuedOptions {
  /** Whose tables to look into. Default: those of the one `createPgqueue` of the program; needed where it has several. */
  pgqueue?: Pgqueue<any, any> | undefined;
}

/**
 * The tasks of a spec, whatever their status, in the order in which they were enqueued.
 *
 * @throws OptionsError when there are several sets of tables, and none is named.
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
  const binding = bindingOf(options.pgqueue ?? onlyPgqueue());
  const rows = await primary("enqueued", db)
    .select(taskFields(binding))
    .from(binding.tasks)
    .where(ofSpec(binding, spec))
    .orderBy(asc(binding.tasks.id));
  return rows as unknown as EnqueuedTask<In>[];
}

function onlyPgqueue(): Pgqueue<any, any> {
  const [first, ...more] = latestPgqueues();
  if (first && more.length === 0) return first;
  const expected = first
    ? "one of the several that createPgqueue returned"
    : "what createPgqueue returned: it was not called";
  throw new OptionsError("enqueued.pgqueue", undefined, expected);
}
