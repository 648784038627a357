import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as v from "valibot";
import { OptionsError } from "../errors.ts";
import { type Duration, milliseconds } from "./duration.ts";
import type { JsonOnly } from "./json-only.ts";
import {
  checkOptions,
  durationOption,
  functionOption,
  nameOption,
  plainObjectOption,
  retriesOption,
} from "./options.ts";
import { encodePayload } from "./payload.ts";
import { type RetainOptions, readRetention } from "./retention.ts";
import type { Dedup, JobSpec, TickerSpec } from "./spec.ts";

interface TaskOptions<S extends StandardSchemaV1> {
  /** Name of the queue: 1 to 512 UTF-8 bytes. Required. */
  queue: string;
  /** A Standard Schema (Valibot, Zod, ArkType, …) that validates synchronously. Its input is stored, its output handled. */
  payload: S & JsonOnly<S>;
  /** The way back from a schema that transforms: what to store of a payload that the handler changed. */
  encode?: ((payload: StandardSchemaV1.InferOutput<S>) => StandardSchemaV1.InferInput<S>) | undefined;
  /** How often a worker looks for due tasks that no notification announced. Default 5 s. */
  pollInterval?: Duration | undefined;
  /** Tries after the first. 0 is none; negative is the default. Default 3. */
  maxRetries?: number | undefined;
  /** A retry comes after attempt × this. Default 30 s. */
  retryDelay?: Duration | undefined;
  /** How long a claim lasts; a task whose process died runs again after it. Default 5 min. */
  leaseDuration?: Duration | undefined;
  /** The end of the lease that is kept for settling: the handler's signal fires this long before. Default 10 s, but at most a quarter of the lease. */
  finalizeBuffer?: Duration | undefined;
}

export interface JobOptions<S extends StandardSchemaV1> extends TaskOptions<S> {
  /** Identity of a payload: an equal hash in the same queue is not enqueued twice. Null or undefined: no dedup. Default none. */
  hash?: ((payload: StandardSchemaV1.InferOutput<S>) => string | null | undefined) | undefined;
  /** `"retained"`: the hash is held while the row exists; `"active"`: while pending, running or disabled. Default `"retained"`. */
  dedup?: Dedup | undefined;
  /** How long ended jobs are kept; then a worker deletes them. Default: completed ones 1 day, failed ones for ever. */
  retain?: RetainOptions | undefined;
}

export interface TickerOptions<S extends StandardSchemaV1, Columns extends object = {}> extends TaskOptions<S> {
  /** The ticker's identity in its queue. Required. */
  key: string;
  /** Stored when the ticker is first created. Required. */
  initialPayload: StandardSchemaV1.InferInput<S>;
  /** Time from a run's settlement to the next. Required. */
  every: Duration;
  /** Your own columns of the ticker's row. */
  columns?: Columns | undefined;
}

/**
 * Describes a kind of job: its queue, its payload and how it is run. A plain value; nothing is registered or sent.
 *
 * @throws OptionsError when an option is missing, unknown or out of range.
 * @example
 * export const sendReceipt = defineJob({
 *   queue: "send-receipt",
 *   payload: v.object({ orderId: v.number() }),
 *   hash: (p) => `receipt:${p.orderId}`,
 * });
 */
export function defineJob<S extends StandardSchemaV1>(
  options: JobOptions<S>,
): JobSpec<StandardSchemaV1.InferInput<S>, StandardSchemaV1.InferOutput<S>> {
  checkOptions("defineJob", jobOptions, options);
  return Object.freeze({
    kind: "job",
    ...readTaskOptions("defineJob", options),
    hash: options.hash,
    dedup: options.dedup ?? "retained",
    retain: readRetention("defineJob.retain", options.retain),
  });
}

/**
 * Describes a recurring task. Its row is created when a worker that registers it starts; it runs at once and then again
 * `every` after each settlement; what the handler changes in the payload is there at the next run.
 *
 * @throws OptionsError when an option is missing, unknown or out of range.
 * @throws PayloadError when `initialPayload` is refused by the schema, or cannot be stored as JSON.
 * @example
 * export const sync = defineTicker({
 *   queue: "sync", key: "main", every: "5m",
 *   payload: v.object({ cursor: v.number() }), initialPayload: { cursor: 0 },
 * });
 */
export function defineTicker<S extends StandardSchemaV1, Columns extends object = {}>(
  options: TickerOptions<S, Columns>,
): TickerSpec<StandardSchemaV1.InferInput<S>, StandardSchemaV1.InferOutput<S>, NoInfer<Columns>> {
  checkOptions("defineTicker", tickerOptions, options);
  const spec = Object.freeze({
    kind: "ticker" as const,
    ...readTaskOptions("defineTicker", options),
    key: options.key,
    initialPayload: options.initialPayload,
    every: milliseconds("defineTicker.every", options.every, 1),
    columns: options.columns ?? ({} as Columns),
  });
  encodePayload(spec, options.initialPayload, "initialPayload");
  return spec;
}

const standardSchemaOption = v.custom(
  (value) =>
    (typeof value === "object" || typeof value === "function") &&
    value !== null &&
    typeof (value as Partial<StandardSchemaV1>)["~standard"]?.validate === "function",
  "a Standard Schema",
);

const taskOptions = {
  queue: nameOption,
  payload: standardSchemaOption,
  encode: v.optional(functionOption),
  pollInterval: v.optional(durationOption(1)),
  maxRetries: v.optional(retriesOption),
  retryDelay: v.optional(durationOption(0)),
  leaseDuration: v.optional(durationOption(1)),
  finalizeBuffer: v.optional(durationOption(0)),
};
const jobOptions = v.strictObject({
  ...taskOptions,
  hash: v.optional(functionOption),
  dedup: v.optional(v.picklist(["retained", "active"])),
  retain: v.optional(v.unknown()),
});
const tickerOptions = v.strictObject({
  ...taskOptions,
  key: nameOption,
  initialPayload: v.unknown(),
  every: durationOption(1),
  columns: v.optional(plainObjectOption),
});

const defaultMaxRetries = 3;
const shortestRun = 10;

function readTaskOptions<S extends StandardSchemaV1>(call: string, options: TaskOptions<S>) {
  const { maxRetries = defaultMaxRetries } = options;
  const leaseDuration = milliseconds(`${call}.leaseDuration`, options.leaseDuration ?? "5m");
  return {
    queue: options.queue,
    // TypeScript does not see that a schema is one of its own input and output.
    schema: options.payload as StandardSchemaV1<StandardSchemaV1.InferInput<S>, StandardSchemaV1.InferOutput<S>>,
    encode: options.encode,
    pollInterval: milliseconds(`${call}.pollInterval`, options.pollInterval ?? "5s"),
    maxRetries: maxRetries < 0 ? defaultMaxRetries : maxRetries,
    retryDelay: milliseconds(`${call}.retryDelay`, options.retryDelay ?? "30s"),
    leaseDuration,
    finalizeBuffer: readFinalizeBuffer(call, options.finalizeBuffer, leaseDuration),
  };
}

function readFinalizeBuffer(call: string, given: Duration | undefined, leaseDuration: number): number {
  if (given === undefined) return Math.min(10_000, Math.floor(leaseDuration / 4));
  const finalizeBuffer = milliseconds(`${call}.finalizeBuffer`, given);
  if (leaseDuration - finalizeBuffer >= shortestRun) return finalizeBuffer;
  const expected = `at least ${shortestRun} ms less than the lease of ${leaseDuration} ms`;
  throw new OptionsError(`${call}.finalizeBuffer`, given, expected);
}
