import type { Spec } from "../tasks/spec.ts";
import { Backoff } from "./backoff.ts";
import { isConflict, isOutage } from "./fault.ts";
import type { Host } from "./host.ts";
import type { Run } from "./run.ts";

/**
 * Sends a statement about one held task until it applies: through outages and conflicts, and while another transaction
 * has the row locked. Whether it did; not when the claim is over, or the statement is wanted no more.
 */
export async function insist(
  { db, pgqueue, closed }: Host,
  spec: Spec,
  { task, lease }: Run,
  send: () => PromiseLike<readonly unknown[]>,
  isWanted: () => boolean = () => true,
): Promise<boolean> {
  const backoff = new Backoff();
  while (isWanted() && !closed.aborted && performance.now() < lease.endsAt) {
    try {
      if ((await send()).length > 0) return true;
      const [held] = await pgqueue.heldBy(db, spec, [task]);
      if (held?.holding !== "busy") return false;
    } catch (error) {
      if (!isOutage(error) && !isConflict(error)) throw error;
    }
    await backoff.wait(closed);
  }
  return false;
}
