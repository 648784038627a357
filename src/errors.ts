/** What every error that pgqueue throws on purpose has in common. */
export abstract class PgqueueError extends Error {
  /** Stable and machine-readable, for example `PGQUEUE_STALE_CLAIM`. */
  abstract readonly code: string;
}

/** An option, name, duration, date or id that cannot be used. Thrown before any SQL is sent. */
export class OptionsError extends PgqueueError {
  override readonly name = "OptionsError";
  readonly code = "PGQUEUE_OPTIONS";
  constructor(
    /** The call and the field, for example `defineJob.leaseDuration`. */
    readonly field: string,
    /** What was given. */
    readonly value: unknown,
    /** What would have been right, in words. */
    readonly expected: string,
  ) {
    super(`${field}: expected ${expected}, received ${show(value)}`);
  }
}

/** A payload that its schema refuses, or that JSON cannot carry exactly. */
export class PayloadError extends PgqueueError {
  override readonly name = "PayloadError";
  readonly code = "PGQUEUE_PAYLOAD";
  constructor(
    /** Path of the first offending value, for example `payload.items[3].sku`. */
    readonly path: string,
    problem: string,
    /** All that the schema objects to, each as `path: message`. */
    readonly issues: readonly string[] = [`${path}: ${problem}`],
  ) {
    super(issues.length > 1 ? issues.join("; ") : `${path}: ${problem}`);
  }
}

/** The claim is over: the lease ran out and another took the task, or it was disabled or removed. Nothing was changed. */
export class StaleClaimError extends PgqueueError {
  override readonly name = "StaleClaimError";
  readonly code = "PGQUEUE_STALE_CLAIM";
  constructor(
    readonly queue: string,
    readonly taskId: number,
  ) {
    super(`task ${taskId} of queue "${queue}" is no longer held by this claim; nothing was changed`);
  }
}

/** A lease that has run out, or is about to: the reason of a handler's signal, and the error recorded by `reap`. */
export class LeaseExpiredError extends PgqueueError {
  override readonly name = "LeaseExpiredError";
  readonly code = "PGQUEUE_LEASE_EXPIRED";
  constructor(
    readonly queue: string,
    readonly taskId: number,
  ) {
    super(`the lease of task ${taskId} of queue "${queue}" is about to end`);
  }
}

/** A limit of time given by the caller has passed: the reason of a handler's signal when `stop` ran out of patience. */
export class TimeoutError extends PgqueueError {
  override readonly name = "TimeoutError";
  readonly code = "PGQUEUE_TIMEOUT";
  constructor(
    what: string,
    /** Milliseconds. */
    readonly timeout: number,
  ) {
    super(`${what} took longer than ${timeout} ms`);
  }
}

/** A table or column of pgqueue is missing in the database. */
export class SchemaError extends PgqueueError {
  override readonly name = "SchemaError";
  readonly code = "PGQUEUE_SCHEMA";
  constructor(
    /** The missing table or column, as Postgres names it. */
    readonly missing: string,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** The database refuses what the statement needs: a read-only connection, or a role without the rights. */
export class AccessError extends PgqueueError {
  override readonly name = "AccessError";
  readonly code = "PGQUEUE_ACCESS";
}

/**
 * The call does not fit the present state: a running task's payload, a hash held out of sight, a stopped worker, a
 * transaction that has ended.
 */
export class ConflictError extends PgqueueError {
  override readonly name = "ConflictError";
  readonly code = "PGQUEUE_CONFLICT";
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : value.toISOString();
  if (typeof value === "object" && value !== null) {
    const { kind, queue } = value as { kind?: unknown; queue?: unknown };
    if (typeof kind === "string" && typeof queue === "string") return `the ${kind} of queue "${queue}"`;
    return Array.isArray(value) ? "an array" : `an object of ${value.constructor?.name ?? "no class"}`;
  }
  return String(value);
}
