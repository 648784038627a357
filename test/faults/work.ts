import * as v from "valibot";
import { createPgqueue } from "../../src/queries/create.ts";
import { pgqueueTables } from "../../src/schema/tables.ts";
import { defineJob } from "../../src/tasks/define.ts";
import type { Duration } from "../../src/tasks/duration.ts";
import type { JobSpec } from "../../src/tasks/spec.ts";

export const pgqueue = createPgqueue(pgqueueTables());

const payload = v.object({
  kind: v.picklist([
    /** Done after so long. */
    "ok",
    /** Fails at its first two tries. */
    "flaky",
    /** Fails for good. */
    "fail",
    /** Its effect and its end in one transaction, by ctx.finalize. */
    "transactional",
    /** Its effect in a transaction, after whose commit its process dies once. */
    "dies after commit",
    /** The same with ctx.finalize in that transaction. */
    "dies after finalize",
    /** Kills its process each time. */
    "poison",
    /** Stays at work until its signal fires; done at the second try. */
    "hangs once",
  ]),
  /** How long it works, in milliseconds. */
  takes: v.optional(v.number(), 0),
  /** Its number among all tasks of a soak. */
  number: v.optional(v.number()),
});

export type Work = v.InferInput<typeof payload>;

export interface WorkOptions {
  queue: string;
  leaseDuration?: Duration;
  finalizeBuffer?: Duration;
  pollInterval?: Duration;
  retryDelay?: Duration;
  maxRetries?: number;
}

export function workSpec(options: WorkOptions): JobSpec<Work, v.InferOutput<typeof payload>> {
  return defineJob({
    leaseDuration: 2_000,
    pollInterval: 100,
    retryDelay: 50,
    maxRetries: 1_000,
    ...options,
    payload,
    hash: ({ number }) => (number === undefined ? null : `work ${number}`),
  });
}
