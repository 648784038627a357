import type { Claimed } from "../queries/claimed.ts";
import type { Result } from "../tasks/result.ts";
import type { Lease } from "./lease.ts";

/** One claimed task on its way through this worker. */
export interface Run {
  readonly task: Claimed;
  readonly lease: Lease;
  /** When the handler began, as `performance.now()`; undefined before. */
  beganAt?: number;
  /** Of its payload, in characters of JSON or in bytes; undefined before the handler began. */
  size?: number;
  /** What the handler passed to `ctx.finalize`, in a transaction that may yet roll back. */
  finalized?: Result;
  /** Whether the handler threw. */
  failed?: true;
}
