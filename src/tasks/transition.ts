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
  if (result.type === "done") {
    const output = { value: result.output ?? null };
    return spec.kind === "ticker"
      ? { ...nextTick(spec, true), output }
      : { ...ended(spec, run, "completed", true), output };
  }
  const failure = describeFailure(result.error);
  if (result.type === "retry" && hasTriesLeft(spec, run)) return { ...nextTry(spec, run), failure };
  if (result.type !== "fail" && spec.kind === "ticker") return { ...nextTick(spec, result.type === "skip"), failure };
  return { ...ended(spec, run, "failed", false), failure };
}

function hasTriesLeft(spec: Spec, run: Attempt): boolean {
  return run.attempt <= (run.maxRetries ?? spec.maxRetries);
}

function nextTry(spec: Spec, run: Attempt): Transition {
  const delay = Math.min(run.attempt * spec.retryDelay, longestDuration);
  return { status: "pending", delay, attempt: run.attempt, isDeleted: false, keepsPayload: false, releasesHash: false };
}

function nextTick(spec: TickerSpec, keepsPayload: boolean): Transition {
  return { status: "pending", delay: spec.every, attempt: 0, isDeleted: false, keepsPayload, releasesHash: false };
}

function ended(spec: Spec, run: Attempt, status: "completed" | "failed", keepsPayload: boolean): Transition {
  return {
    status,
    delay: null,
    attempt: run.attempt,
    isDeleted: spec.kind === "job" && spec.retain[status] === 0,
    keepsPayload,
    releasesHash: spec.kind === "job" && spec.dedup === "active",
  };
}
