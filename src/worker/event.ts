import { isQueryError } from "../tasks/failure.ts";
import type { Result } from "../tasks/result.ts";

/** An outcome was written. */
export interface SettledEvent {
  type: "settled";
  queue: string;
  taskId: number;
  /** Which try it was, from 1. */
  attempt: number;
  /** How the run ended. */
  result: Result["type"];
  /** What that made of the task: a `retry` is `failed` when no try is left. */
  status: "pending" | "completed" | "failed";
  /** How long the handler took, in milliseconds. */
  duration: number;
  /** What went wrong, where something did. */
  error?: unknown;
}

/** What a worker tells of its work beside running it. */
export type WorkerEvent =
  | SettledEvent
  /** The claim was over before the outcome could be written; the outcome changed nothing. */
  | { type: "lost"; queue: string; taskId: number }
  /** It cannot be told whether the outcome was applied: the connection was cut, or `ctx.finalize` had its own transaction. */
  | { type: "unknown"; queue: string; taskId: number }
  /** `stop` gave up on the handler, or on writing its outcome; the task keeps its lease and runs again after it. */
  | { type: "abandoned"; queue: string; taskId: number }
  /** Something failed that the worker goes on from. `during` says what it was doing. */
  | { type: "error"; during: Activity; queue?: string; taskId?: number; error: unknown }
  /** Something that works, but hardly as meant. */
  | { type: "warning"; message: string };

/** What a worker does beside running handlers; `begin` and `release` are of one task. */
export type Activity = "start" | "listen" | "claim" | "begin" | "release" | "settle" | "reap" | "purge" | "watch";

/** What is done with events when nothing else is asked for: all are printed but runs that succeeded. */
export function printEvent(event: WorkerEvent): void {
  switch (event.type) {
    case "settled":
      if (event.result !== "done") console.warn(`pgqueue: ${nameOf(event)} ${endOf(event)}:`, describe(event.error));
      return;
    case "error":
      console.error(`pgqueue: ${activityOf(event)}:`, describe(event.error));
      return;
    case "warning":
      console.warn(`pgqueue: ${event.message}`);
      return;
    default:
      console.warn(`pgqueue: ${nameOf(event)} is ${event.type}`);
  }
}

function nameOf({ taskId, queue }: { taskId: number; queue: string }): string {
  return `task ${taskId} of queue "${queue}"`;
}

function endOf({ result, attempt, status }: SettledEvent): string {
  const next = status === "pending" ? "and runs again" : "for good";
  return result === "skip" && status === "pending" ? "skipped this run" : `failed at try ${attempt} ${next}`;
}

function activityOf({ during, queue, taskId }: Extract<WorkerEvent, { type: "error" }>): string {
  if (during === "start") return "the database cannot be reached, trying again";
  const task = taskId === undefined ? "" : ` task ${taskId}`;
  return `${during}${task}${queue === undefined ? "" : ` of queue "${queue}"`}`;
}

/** Drizzle's own message holds the statement's parameters, which are no business of a log; and a log prints causes. */
function describe(error: unknown): unknown {
  const chain = causesOf(error);
  const told = chain.filter((cause) => !isQueryError(cause));
  if (told.length === chain.length) return error;
  if (told.length === 0) return "a query failed for an unknown reason";
  return told.length === 1 ? told[0] : told.map((cause) => (cause as Error).stack ?? String(cause)).join("\n[cause] ");
}

function causesOf(error: unknown): unknown[] {
  const chain = [error];
  for (let last = error; last instanceof Error && last.cause !== undefined && chain.length < 20; ) {
    last = last.cause;
    chain.push(last);
  }
  return chain;
}
