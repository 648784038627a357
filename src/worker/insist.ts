import type { Claimed } from "../queries/claimed.ts";
import type { Spec } from "../tasks/spec.ts";
import { Backoff } from "./backoff.ts";
import { isConflict, isOutage, mayBeOfOneRow } from "./fault.ts";
import type { Host } from "./host.ts";
import type { Run } from "./run.ts";

/**
 * Sends a statement about held tasks until it has applied to each: through outages and conflicts, and while other
 * transactions have their rows locked. Whether it did; not when a claim is over, or the statement is wanted no more. Throws
 * what the database refuses, and for several tasks what one of them may hold up.
 */
export async function insist(
  { db, pgqueue, closed }: Host,
  spec: Spec,
  runs: readonly Run[],
  send: (tasks: readonly Claimed[]) => PromiseLike<readonly { id: number }[]>,
  isWanted: () => boolean = () => true,
): Promise<boolean> {
  const backoff = new Backoff();
  let left = runs;
  let isLost = false;
  while (isWanted() && !closed.aborted) {
    left = left.filter(({ lease }) => performance.now() < lease.endsAt);
    if (left.length === 0) return false;
    try {
      const applied = new Set((await send(left.map(({ task }) => task))).map(({ id }) => id));
      left = left.filter(({ task }) => !applied.has(task.id));
      if (left.length === 0) return !isLost;
      const holdings = await pgqueue.heldBy(
        db,
        spec,
        left.map(({ task }) => task),
      );
      const busy = left.filter((_, i) => holdings[i]?.holding === "busy");
      isLost ||= busy.length < left.length;
      left = busy;
      if (left.length === 0) return false;
    } catch (error) {
      if (!isOutage(error) && !isConflict(error)) throw error;
      if (left.length > 1 && mayBeOfOneRow(error) && !isConflict(error)) throw error;
    }
    await backoff.wait(closed);
  }
  return false;
}
