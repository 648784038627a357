import type { Db } from "../queries/statement.ts";
import type { Duration } from "../tasks/duration.ts";
import type { Result } from "../tasks/result.ts";

/** What a handler works on. */
export interface Job<Payload = unknown, Columns = {}> {
  readonly id: number;
  readonly queue: string;
  /** A ticker's key; null for a job. */
  readonly key: string | null;
  /** The output of the spec's schema. Change it, and `done` (or `skip` of a ticker) keeps the change. */
  payload: Payload;
  /** Which try this is, from 1. */
  readonly attempt: number;
  /** Tries after the first: the task's own, else the spec's. */
  readonly maxRetries: number;
  readonly runAt: Date;
  readonly createdAt: Date;
  /** As given to enqueue. */
  readonly meta: Record<string, unknown> | null;
  /** Your own columns of the task table. */
  readonly columns: Columns;
}

/** What a handler works with. */
export interface Context {
  /**
   * Fires when the handler should stop: `finalizeBuffer` before its lease ends (reason LeaseExpiredError), when its claim
   * is lost or the task disabled (StaleClaimError), or when `stop` ran out of time (TimeoutError).
   */
  readonly signal: AbortSignal;
  readonly workerId: string;
  /**
   * Moves the end of the lease to `duration` from now; default the spec's `leaseDuration`.
   *
   * @throws StaleClaimError when the claim is over.
   * @throws ConflictError while an open transaction holds the task's row, such as your own after `finalize`.
   */
  extendLease(duration?: Duration): Promise<void>;
  /**
   * Ends the task inside your own transaction, together with its effects: `finalizeOrThrow` for this task. Return the
   * same result afterwards, or nothing. In a repeatable-read transaction, call it first.
   *
   * @throws StaleClaimError when the claim is over: let it roll your transaction back.
   * @example
   * await db.transaction(async (tx) => {
   *   await tx.insert(receipts).values(receipt);
   *   await ctx.finalize(tx, done());
   * });
   */
  finalize(tx: Db, result: Result): Promise<void>;
}

/** Runs a task. Nothing returned is `done()`; an error thrown is `retry(error)`. It must be idempotent. */
export type Handler<Payload = unknown, Columns = {}> = (
  job: Job<Payload, Columns>,
  context: Context,
) => Result | void | Promise<Result | void>;
