import { halvesOf } from "./halves.ts";
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
    // One row that a trigger of the user's refuses, or holds up, must not keep the others.
    if (runs.length > 1) await Promise.all(halvesOf(runs).map((half) => release(host, registration, half)));
    else report({ type: "error", during: "release", queue: spec.queue, taskId: runs[0]!.task.id, error });
  }
}
