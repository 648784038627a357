import { ConflictError } from "../errors.ts";
import type { TaskStatus } from "../schema/columns.ts";

/** What became of an enqueue. */
export interface Enqueued {
  /** The task's id; where its hash was held already, that of the holder. */
  id: number;
  status: TaskStatus;
  /** Whether a task of the same hash was there, and nothing was inserted. */
  deduplicated: boolean;
}

/** How often insert and read are tried in turn, while others take and give up what is inserted. */
export const mostRounds = 5;

/** The holder of a hash comes and goes only where "active" tasks end all the time, or is out of sight for good. */
export function hiddenHolder(queue: string, hash: string): ConflictError {
  return new ConflictError(
    `hash ${JSON.stringify(hash)} of queue "${queue}" is held by a task that this role or transaction cannot see; look for a row-level security policy`,
  );
}
