import type { JobSpec } from "../tasks/spec.ts";
import type { Host } from "./host.ts";
import { repeat } from "./repeat.ts";

const chunk = 2_000;
const shortestInterval = 1_000;
const longestInterval = 60_000;

/**
 * Deletes the jobs of a spec that are kept no longer, in chunks, until none is left; goes round once a minute, or every
 * tenth of the time that they are kept where that is shorter.
 */
export async function keepPurging(host: Host, spec: JobSpec): Promise<void> {
  await Promise.all([keepPurgingOf(host, spec, "completed"), keepPurgingOf(host, spec, "failed")]);
}

async function keepPurgingOf({ db, pgqueue, closing, report }: Host, spec: JobSpec, status: "completed" | "failed") {
  const olderThan = spec.retain[status];
  if (olderThan === Number.POSITIVE_INFINITY) return;
  const interval = Math.min(Math.max(olderThan / 10, shortestInterval), longestInterval);
  await repeat(interval, closing, async () => {
    try {
      const options = { queue: spec, status, olderThan, limit: chunk };
      while ((await pgqueue.purge(db, options)).length === chunk && !closing.aborted);
    } catch (error) {
      report({ type: "error", during: "purge", queue: spec.queue, error });
    }
  });
}
