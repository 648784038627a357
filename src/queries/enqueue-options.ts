import * as v from "valibot";
import { OptionsError } from "../errors.ts";
import { type Duration, milliseconds } from "../tasks/duration.ts";
import { exactJson } from "../tasks/exact-json.ts";
import { checkName } from "../tasks/name.ts";
import {
  checkOptions,
  dateOption,
  durationOption,
  integerOption,
  plainObjectOption,
  retriesOption,
} from "../tasks/options.ts";
import { encodePayload } from "../tasks/payload.ts";
import type { JobSpec } from "../tasks/spec.ts";

export interface BaseEnqueueOptions {
  /** Not before this moment. Default: at once. */
  runAt?: Date | undefined;
  /** Not before so long from now, by the clock of Postgres. Not together with `runAt`. */
  delay?: Duration | undefined;
  /** 0 runs first, 9 last. Default 0. */
  priority?: number | undefined;
  /** Tries after the first, for this task. Default: the spec's. */
  maxRetries?: number | undefined;
  /** Instead of what the spec's hash function says; null for no dedup. */
  hash?: string | null | undefined;
  /** Trace context, tags: stored as JSON and handed to the handler. */
  meta?: Record<string, unknown> | undefined;
  /** Your own columns. */
  columns?: object | undefined;
}

/** A task ready to be inserted: all checked, all text. */
export interface NewTask {
  readonly payload: string;
  readonly hash: string | null;
  readonly runAt: Date | undefined;
  /** Milliseconds. */
  readonly delay: number;
  readonly priority: number;
  readonly maxRetries: number | null;
  readonly meta: string | null;
  readonly columns: object | undefined;
}

const enqueueOptions = v.strictObject({
  runAt: v.optional(dateOption),
  delay: v.optional(durationOption(0)),
  priority: v.optional(integerOption(0, 9)),
  maxRetries: v.optional(retriesOption),
  hash: v.nullish(v.string()),
  meta: v.optional(plainObjectOption),
  columns: v.optional(plainObjectOption),
});

/**
 * Checks a payload and the options of its task, before any SQL.
 *
 * @param call what the errors name, for example `enqueueMany[3]`
 * @param root what those of the payload and of `meta` name before them, for example `enqueueMany[3].`
 */
export function newTask(
  call: string,
  spec: JobSpec,
  payload: unknown,
  options?: BaseEnqueueOptions,
  root = "",
): NewTask {
  if (options !== undefined) checkOptions(call, enqueueOptions, options);
  const { runAt, delay, priority = 0, maxRetries = -1, meta, columns } = options ?? {};
  if (runAt && delay !== undefined) throw new OptionsError(`${call}.delay`, delay, "either runAt or delay, not both");
  const { json, parsed } = encodePayload(spec, payload, `${root}payload`);
  const hash = options?.hash === undefined ? spec.hash?.(parsed) : options.hash;
  return {
    payload: json,
    hash: hash === null || hash === undefined ? null : checkName(`${call}.hash`, hash),
    runAt,
    delay: delay === undefined ? 0 : milliseconds(`${call}.delay`, delay),
    priority,
    maxRetries: maxRetries < 0 ? null : maxRetries,
    meta: meta ? exactJson(meta, `${root}meta`) : null,
    columns,
  };
}

/** @throws OptionsError when the spec is not one of `defineJob`. */
export function checkJobSpec(call: string, spec: JobSpec): void {
  if (spec?.kind !== "job") throw new OptionsError(`${call}.spec`, spec, "a spec made by defineJob");
}
