import type { Claimed } from "../queries/claimed.ts";
import type { Mark } from "../queries/mark.ts";

type Passed = Pick<Claimed, "priority" | "runAt" | "exactRunAt" | "id">;

const shortestInterval = 1_000;
const timesLastScan = 20;
/** A scan may also have waited for a lock, or for a connection. */
const longestInterval = 10_000;

/**
 * From where the next claim of a spec may read: after the last task that full batches returned, at each level of priority.
 * What lies before was claimed, and while a long transaction is open Postgres has to pass all of it again at every claim
 * that begins at the front. What comes in behind, such as a row that is committed late, is found by a scan from the front:
 * when a batch was not filled, and also when it was, at the latest after a second, or after twenty times what such a scan
 * takes, which are ten seconds at most.
 */
export class Watermark {
  readonly #now: () => number;
  readonly #marks = new Map<number, Passed>();
  #scanIsDue = true;
  #scannedAt = Number.NEGATIVE_INFINITY;
  #scanTook = 0;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** What the next claim comes after: nothing where it has to begin at the front. */
  next(): readonly Mark[] {
    const interval = Math.min(Math.max(shortestInterval, timesLastScan * this.#scanTook), longestInterval);
    if (this.#scanIsDue || this.#now() - this.#scannedAt >= interval) this.#marks.clear();
    // Whoever resets it while the claim is under way has the next one scan.
    this.#scanIsDue = false;
    return [...this.#marks.values()].map(({ priority, exactRunAt, id }) => ({ priority, exactRunAt, id }));
  }

  /** What a claim that came after `after` returned, of at most `limit`, and when it was sent. */
  passed(tasks: readonly Passed[], claim: { after: readonly Mark[]; limit: number; sentAt: number }): void {
    if (claim.after.length === 0) {
      this.#scannedAt = claim.sentAt;
      this.#scanTook = this.#now() - claim.sentAt;
    }
    this.#scanIsDue ||= tasks.length < claim.limit;
    for (const task of tasks) {
      const mark = this.#marks.get(task.priority);
      if (!mark || isAfter(task, mark)) this.#marks.set(task.priority, task);
    }
  }

  /** Tasks that were passed are due again. */
  reset(): void {
    this.#scanIsDue = true;
  }
}

/** Texts of one millisecond have one time zone, so that they can be compared. */
function isAfter(one: Passed, other: Passed): boolean {
  const apart = one.runAt.getTime() - other.runAt.getTime();
  if (apart !== 0) return apart > 0;
  if (one.exactRunAt !== other.exactRunAt) return one.exactRunAt > other.exactRunAt;
  return one.id > other.id;
}
