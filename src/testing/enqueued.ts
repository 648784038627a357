import { asc, sql } from "drizzle-orm";
import * as v from "valibot";
import { OptionsError } from "../errors.ts";
import { bindingOf, latestPgqueues } from "../queries/create.ts";
import { checkSpec, ofSpec } from "../queries/of-spec.ts";
import type { Pgqueue } from "../queries/pgqueue.ts";
import { type Db, type DrizzleDb, primary } from "../queries/statement.ts";
import { type Task, taskFields } from "../queries/task.ts";
import { checkOptions } from "../tasks/options.ts";
import type { Spec } from "../tasks/spec.ts";

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
 * @throws OptionsError when the database has several sets of tables, and none is named.
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
  const binding = bindingOf(options.pgqueue ?? (await pgqueueOf(handle)));
  const rows = await handle
    .select(taskFields(binding))
    .from(binding.tasks)
    .where(ofSpec(binding, spec))
    .orderBy(asc(binding.tasks.id));
  return rows as unknown as EnqueuedTask<In>[];
}

const enqueuedOptions = v.strictObject({ pgqueue: v.optional(v.unknown()) });

/** Of several sets of tables, the one that this database has. */
async function pgqueueOf(handle: DrizzleDb): Promise<Pgqueue<any, any>> {
  const known = latestPgqueues();
  const [only] = known;
  if (only && known.length === 1) return only.pgqueue;
  const names = JSON.stringify(known.map(({ table }) => table));
  const rows = await handle
    .select({ isThere: sql<boolean>`to_regclass(name) is not null` })
    .from(sql`jsonb_array_elements_text(${names}::text::jsonb) with ordinality as tables(name, position)`)
    .orderBy(sql`position`);
  const [found, ...more] = known.filter((_, i) => rows[i]?.isThere);
  if (found && more.length === 0) return found.pgqueue;
  const expected = found
    ? "one of the several that createPgqueue returned, since this database has the tables of more than one"
    : "what createPgqueue returned: it was not called for tables of this database";
  throw new OptionsError("enqueued.pgqueue", undefined, expected);
}
