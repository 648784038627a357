import type { Result } from "../tasks/result.ts";

/** What a worker tells of its work beside running it. */
export type WorkerEvent =
  /** An outcome was written: how the run ended, and how long the handler took, in milliseconds. */
  | { type: "settled"; queue: string; taskId: number; result: Result["type"]; duration: number }
  /** The claim was over before the outcome could be written; the outcome changed nothing. */
  | { type: "lost"; queue: string; taskId: number }
  /** The connection was cut while the outcome was written, and it cannot be told whether it was applied. */
  | { type: "unknown"; queue: string; taskId: number }
  /** `stop` gave up on the handler, or on writing its outcome; the task keeps its lease and runs again after it. */
  | { type: "abandoned"; queue: string; taskId: number }
  /** Something failed that the worker goes on from. `during` says what it was doing. */
  | {
      type: "error";
      during: "start" | "claim" | "settle" | "reap" | "watch" | "listen";
      queue?: string;
      error: unknown;
    }
  /** Something that works, but hardly as meant. */
  | { type: "warning"; message: string };

/** What is done with events when nothing else is asked for: the settled ones are passed over, the others printed. */
export function printEvent(event: WorkerEvent): void {
  switch (event.type) {
    case "settled":
      return;
    case "error":
      return console.error(
        `pgqueue: ${event.during}${event.queue ? ` of queue "${event.queue}"` : ""}:`,
        describe(event.error),
      );
    case "warning":
      return console.warn(`pgqueue: ${event.message}`);
    default:
      return console.warn(`pgqueue: task ${event.taskId} of queue "${event.queue}" is ${event.type}`);
  }
}

// Drizzle's own message holds the statement's parameters, which are no business of a log.
function describe(error: unknown): unknown {
  return error instanceof Error && "params" in error && error.cause !== undefined ? error.cause : error;
}
