import { BatchSize } from "./batch-size.ts";
import type { Claimer } from "./claimer.ts";
import type { Host, Registration } from "./host.ts";
import { repeat } from "./repeat.ts";

const batch = 100;
const shortestInterval = 250;

/**
 * Ends the expired claims of a spec, and gives back what this worker claimed without learning it. Goes round every
 * `interval`, or every half lease where that is shorter.
 */
export async function keepReaping(
  host: Host,
  { spec }: Registration,
  claimer: Claimer,
  interval: number,
): Promise<void> {
  const { db, pgqueue, closing } = host;
  const size = new BatchSize(batch);
  const pace = Math.min(interval, Math.max(spec.leaseDuration / 2, shortestInterval));
  await repeat(pace, closing, async () => {
    const limit = size.current;
    try {
      await claimer.recover();
      while ((await pgqueue.reap(db, spec, { limit })).length === limit && !closing.aborted);
      size.succeeded();
    } catch (error) {
      size.failed(limit);
      host.report({ type: "error", during: "reap", queue: spec.queue, error });
    }
  });
}
