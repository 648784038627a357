import type { JobSpec } from "../tasks/spec.ts";
import { BatchSize } from "./batch-size.ts";
import { isTimeout } from "./fault.ts";
import type { Host } from "./host.ts";
import { pause } from "./pause.ts";
import { repeat } from "./repeat.ts";

const chunk = 2_000;
const shortestInterval = 1_000;
const longestInterval = 60_000;

/**
 * Deletes the jobs of a spec that are kept no longer, in chunks, until none is left: soon after the start, then once a minute,
 * or every tenth of the time that they are kept where that is shorter.
 */
export async function keepPurging(host: Host, spec: JobSpec): Promise<void> {
  await Promise.all([keepPurgingOf(host, spec, "completed"), keepPurgingOf(host, spec, "failed")]);
}

/** Deletes them once. */
export async function purgeNow(host: Host, spec: JobSpec): Promise<void> {
  for (const status of ["completed", "failed"] as const) await purgeOf(host, spec, status);
}

async function purgeOf(host: Host, spec: JobSpec, status: "completed" | "failed"): Promise<void> {
  const olderThan = spec.retain[status];
  if (olderThan === Number.POSITIVE_INFINITY) return;
  const { db, pgqueue, closing, report } = host;
  const size = new BatchSize(chunk);
  while (!closing.aborted) {
    const limit = size.current;
    try {
      if ((await pgqueue.purge(db, { queue: spec, status, olderThan, limit })).length < limit) return;
    } catch (error) {
      report({ type: "error", during: "purge", queue: spec.queue, error });
      // References of the user's to each of these rows may take their time.
      if (limit === 1 || !isTimeout(error)) return;
      size.failed(limit);
    }
  }
}

async function keepPurgingOf(host: Host, spec: JobSpec, status: "completed" | "failed"): Promise<void> {
  const olderThan = spec.retain[status];
  if (olderThan === Number.POSITIVE_INFINITY) return;
  const { closing } = host;
  const purge = () => purgeOf(host, spec, status);
  // Soon, since a worker that is often started again would else never come to it; but not before its first claims.
  await pause(shortestInterval * Math.random(), closing);
  await purge();
  // What is not kept at all is deleted by the statement that ends it; here only what ended before the spec said so.
  const interval = olderThan === 0 ? longestInterval : Math.max(olderThan / 10, shortestInterval);
  await repeat(Math.min(interval, longestInterval), closing, purge);
}
