import { longestDuration } from "./duration.ts";
import { describeFailure, type Failure } from "./failure.ts";
import type { Result } from "./result.ts";
import type { Spec, TickerSpec } from "./spec.ts";

/** What the next state of a task depends on. */
export interface Attempt {
  /** The try that ended, from 1. */
  readonly attempt: number;
  /** The task's own override of the spec. */
  readonly maxRetries: number | null;
}

/** What the end of a run makes of a task's row. */
export interface Transition {
  readonly status: "pending" | "completed" | "failed";
  /** Milliseconds from the settlement to the next run; null keeps `run_at`. */
  readonly delay: number | null;
  /** Tries charged from here on. */
  readonly attempt: number;
  /** Whether the row goes at once: nothing of it is retained. */
  readonly isDeleted: boolean;
  /** Whether a payload that the handler changed is stored. */
  readonly keepsPayload: boolean;
  /** Whether the hash, if any, is given up. */
  readonly releasesHash: boolean;
  /** Present when the run succeeded. */
  readonly output?: { readonly value: unknown };
  /** Present when it did not. */
  readonly failure?: Failure;
}

/** The state that a result leads to: the table of results, and nothing else. `reap` says the same of a `retry` in SQL. */
export function transition(spec: Spec, run: Attempt, result: Result): Transition {
  const keeps = keepsPayload(spec, result);
  if (result.type === "done") {
    const output = { value: result.output ?? null };
    return spec.kind === "ticker"
      ? nextTick(spec, keeps, { output })
      : ended(spec, run, "completed", keeps, { output });
  }
  const failure = describeFailure(result.error);
  if (result.type === "retry" && hasTriesLeft(spec, run)) return nextTry(spec, run, failure);
  if (result.type !== "fail" && spec.kind === "ticker") return nextTick(spec, keeps, { failure });
  return ended(spec, run, "failed", keeps, { failure });
}

/** Whether a result keeps the payload that the handler changed. */
export function keepsPayload(spec: Spec, { type }: Result): boolean {
  return type === "done" || (type === "skip" && spec.kind === "ticker");
}

type Ending = Pick<Transition, "output"> | Pick<Transition, "failure">;

function hasTriesLeft(spec: Spec, run: Attempt): boolean {
  return run.attempt <= (run.maxRetries ?? spec.maxRetries);
}

function nextTry(spec: Spec, run: Attempt, failure: Failure): Transition {
  const delay = Math.min(run.attempt * spec.retryDelay, longestDuration);
  const { attempt } = run;
  return { status: "pending", delay, attempt, isDeleted: false, keepsPayload: false, releasesHash: false, failure };
}

function nextTick(spec: TickerSpec, keepsPayload: boolean, ending: Ending): Transition {
  const delay = spec.every;
  return { status: "pending", delay, attempt: 0, isDeleted: false, keepsPayload, releasesHash: false, ...ending };
}

function ended(
  spec: Spec,
  { attempt }: Attempt,
  status: "completed" | "failed",
  keepsPayload: boolean,
  ending: Ending,
): Transition {
  const isDeleted = spec.kind === "job" && spec.retain[status] === 0;
  const releasesHash = spec.kind === "job" && spec.dedup === "active";
  return { status, delay: null, attempt, isDeleted, keepsPayload, releasesHash, ...ending };
}
