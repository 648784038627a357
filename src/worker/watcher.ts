import { StaleClaimError } from "../errors.ts";
import type { Host, Registration } from "./host.ts";
import { repeat } from "./repeat.ts";
import type { Runner } from "./runner.ts";

const longestInterval = 5_000;

/**
 * Tells handlers to stop whose task was disabled, removed or taken over: looks every five seconds, or once a poll interval
 * where that is shorter, while any is at work.
 */
export async function keepWatching(host: Host, { spec }: Registration, runner: Runner): Promise<void> {
  const { db, pgqueue, closed } = host;
  const interval = Math.min(spec.pollInterval, longestInterval);
  await repeat(interval, closed, async () => {
    const runs = runner.working.filter((run) => !run.finalized && performance.now() - run.beganAt! > interval / 2);
    if (runs.length === 0) return;
    try {
      const holdings = await pgqueue.heldBy(
        db,
        spec,
        runs.map(({ task }) => task),
      );
      for (const [i, run] of runs.entries()) {
        // It may have been finalized by its handler meanwhile.
        if (holdings[i]?.holding === "busy" || run.finalized) continue;
        run.lease.abort(new StaleClaimError(spec.queue, run.task.id));
      }
    } catch (error) {
      host.report({ type: "error", during: "watch", queue: spec.queue, error });
    }
  });
}
