import type { Host, Registration } from "./host.ts";
import { insist } from "./insist.ts";
import type { Run } from "./run.ts";

/** Gives claimed tasks back that did not begin. */
export async function release(host: Host, registration: Registration, runs: readonly Run[]): Promise<void> {
  const { db, pgqueue, report } = host;
  const { spec } = registration;
  try {
    await insist(host, spec, runs, (tasks) => pgqueue.release(db, spec, tasks));
  } catch (error) {
    const [first, ...others] = runs;
    // One row that a trigger of the user's refuses must not keep the others.
    if (others.length > 0) for (const run of runs) await release(host, registration, [run]);
    else if (first) report({ type: "error", during: "release", queue: spec.queue, taskId: first.task.id, error });
  }
}
