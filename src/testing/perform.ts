import * as v from "valibot";
import { OptionsError, StaleClaimError } from "../errors.ts";
import { type Claimed, newClaimToken } from "../queries/claimed.ts";
import type { Outcome } from "../queries/ends.ts";
import { checkSpec } from "../queries/of-spec.ts";
import { milliseconds } from "../tasks/duration.ts";
import { exactJson } from "../tasks/exact-json.ts";
import { checkOptions, integerOption, plainObjectOption, retriesOption } from "../tasks/options.ts";
import { encodePayload } from "../tasks/payload.ts";
import { isResult, type Result, retry } from "../tasks/result.ts";
import type { Spec } from "../tasks/spec.ts";
import { transition } from "../tasks/transition.ts";
import type { Handler } from "../worker/handler.ts";
import { outcomeOf } from "../worker/outcome.ts";

export type PerformOptions<Columns = {}> = RunOptions &
  ({} extends Columns ? { columns?: Columns } : { columns: Columns });

interface RunOptions {
  /** Which try this is, from 1. Default 1. */
  attempt?: number | undefined;
  /** Tries after the first, for this task. Default: the spec's. */
  maxRetries?: number | undefined;
  /** `job.meta`. Default null. */
  meta?: Record<string, unknown> | undefined;
  /** `ctx.signal`. Default: one that does not fire. */
  signal?: AbortSignal | undefined;
}

/** How a run ended. */
export interface Performed<In> {
  /** What it told `ctx.finalize`; else what it returned: `done` where that is nothing, `retry` with the error where it threw. */
  result: Result;
  /** What that makes of the task. */
  status: "completed" | "pending" | "failed";
  /** Milliseconds until it runs again; null where it does not. */
  delay: number | null;
  /** The payload as it is stored afterwards. */
  payload: In;
}

const performOptions = v.strictObject({
  attempt: v.optional(integerOption(1, 32_768)),
  maxRetries: v.optional(retriesOption),
  meta: v.optional(plainObjectOption),
  columns: v.optional(plainObjectOption),
  signal: v.optional(v.custom((value) => value instanceof AbortSignal, "an AbortSignal")),
});

/**
 * Runs a handler once, without a database, on the payload as it would come out of one: through JSON and the spec's schema.
 * `ctx.finalize` takes whatever it is given for a transaction that commits: its result stands, whatever the handler does
 * afterwards. What is thrown then is printed with `console.warn`. `ctx.extendLease` refuses a duration as a worker's does, and
 * does nothing else. A handler that throws does not make it throw.
 *
 * `columns` of the options are `job.columns`: required where the handler's type says that it has some.
 *
 * @throws PayloadError when the payload is refused, as `enqueue` would, or `meta` is not what JSON can carry.
 * @throws OptionsError when the spec, the handler or an option is not what it should be.
 * @example
 * const { result } = await perform(sendReceipt, handler, { orderId: 1, to: "ada@example.com" }, { attempt: 2 });
 * expect(result).toEqual(done());
 */
export async function perform<In, Out, Columns = {}>(
  spec: Spec<In, Out>,
  handler: Handler<NoInfer<Out>, Columns>,
  payload: NoInfer<In>,
  ...[options = {} as PerformOptions<Columns>]: {} extends Columns
    ? [options?: PerformOptions<Columns>]
    : [options: PerformOptions<Columns>]
): Promise<Performed<In>> {
  checkSpec("perform", spec);
  checkOptions("perform", performOptions, options);
  if (typeof handler !== "function") throw new OptionsError("perform.handler", handler, "a function");
  const { attempt = 1, maxRetries, meta = null, columns = {}, signal = new AbortController().signal } = options;
  const stored = JSON.parse(encodePayload(spec, payload).json) as In;
  const now = new Date();
  const task: Claimed<any, any> = {
    id: 1,
    queue: spec.queue,
    key: spec.kind === "ticker" ? spec.key : null,
    payload: structuredClone(stored),
    attempt,
    maxRetries: maxRetries === undefined || maxRetries < 0 ? null : maxRetries,
    meta: meta && JSON.parse(exactJson(meta, "meta")),
    columns,
    priority: 0,
    runAt: now,
    exactRunAt: now.toISOString(),
    createdAt: now,
    token: newClaimToken(),
    claims: attempt,
    crashed: false,
  };
  const run: Parameters<typeof outcomeOf>[1] = { task };
  let finalized: Performed<In> | undefined;
  const outcome = await outcomeOf({ spec, handler }, run, {
    contextOf: (_, changes) => ({
      signal,
      workerId: "perform",
      extendLease: async (duration = spec.leaseDuration) => {
        milliseconds("extendLease.duration", duration, 1);
      },
      finalize: async (_tx, result) => {
        if (!isResult(result)) throw new OptionsError("finalize.result", result, "done(), retry(), fail() or skip()");
        if (finalized) throw new StaleClaimError(spec.queue, task.id);
        finalized = applied<In>(spec, stored, { task, result, ...changes.keptBy(result) });
        run.finalized = result;
      },
    }),
    warn,
  });
  if (finalized) {
    // As in a worker, it is no longer the outcome, but not to be passed over in silence.
    if (run.failed && outcome.result.type !== "done")
      warn("the handler threw after ctx.finalize:", outcome.result.error);
    return finalized;
  }
  try {
    return applied<In>(spec, stored, outcome);
  } catch (error) {
    // What cannot be stored is a retry, as in a worker.
    return applied<In>(spec, stored, { task, result: retry(error) });
  }
}

function warn(message: string, ...more: unknown[]): void {
  console.warn(`pgqueue: ${message}`, ...more);
}

function applied<In>(spec: Spec<In, any>, stored: In, { task, result, payload }: Outcome): Performed<In> {
  const { status, delay, keepsPayload, output } = transition(spec, task, result);
  if (output) exactJson(output.value, "output");
  const isChanged = payload !== undefined && keepsPayload;
  return { result, status, delay, payload: isChanged ? JSON.parse(encodePayload(spec, payload).json) : stored };
}
