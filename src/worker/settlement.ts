import type { Outcome } from "../queries/ends.ts";
import type { WorkerEvent } from "./event.ts";
import type { Run } from "./run.ts";

/** An outcome on its way into the table. */
export interface Settlement {
  readonly run: Run;
  outcome: Outcome;
  readonly duration: number;
  /** About how many characters of JSON it holds. */
  readonly weight: number;
  tries: number;
  /** Whether an earlier try may have been committed without our learning it. */
  isUncertain: boolean;
  /** Whether the handler's own outcome could not be written, and its refusal is written instead. */
  isReplaced: boolean;
}

/** That it is not known to be written. */
export function eventOf({ run }: Settlement, type: "lost" | "unknown" | "abandoned"): WorkerEvent {
  return { type, queue: run.task.queue, taskId: run.task.id };
}
