import { OptionsError } from "../errors.ts";
import { exactJson } from "../tasks/exact-json.ts";
import { encodePayload } from "../tasks/payload.ts";
import { isResult, type Result } from "../tasks/result.ts";
import type { Spec } from "../tasks/spec.ts";
import { type Transition, transition } from "../tasks/transition.ts";
import type { Claimed } from "./claimed.ts";
import { checkClaims } from "./held.ts";

/** How a claimed task ended. */
export interface Outcome<Payload = any> {
  task: Claimed<Payload, any>;
  result: Result;
  /** A changed payload, as the schema's input; stored where the result keeps it. Default: the payload stays. */
  payload?: Payload;
}

/** An outcome, and what it makes of the task. */
export interface End {
  readonly outcome: Outcome;
  readonly next: Transition;
}

const members: ReadonlySet<string> = new Set(["task", "result", "payload"]);

function checkOutcome(outcome: Outcome, i: number): void {
  if (typeof outcome !== "object" || outcome === null) {
    throw new OptionsError(fieldOf(i), outcome, "an object with the task and its result");
  }
  for (const name in outcome) {
    if (members.has(name)) continue;
    const value = outcome[name as keyof Outcome];
    throw new OptionsError(`${fieldOf(i)}.${name}`, value, `one of ${[...members].join(", ")}`);
  }
  const { result } = outcome;
  if (!isResult(result)) throw new OptionsError(`${fieldOf(i)}.result`, result, "done(), retry(), fail() or skip()");
}

function checkTries({ attempt, maxRetries }: Claimed, i: number): void {
  const expected = "a task that claim returned";
  if (!Number.isInteger(attempt)) throw new OptionsError(`${fieldOf(i)}.task.attempt`, attempt, expected);
  if (maxRetries !== null && !Number.isInteger(maxRetries)) {
    throw new OptionsError(`${fieldOf(i)}.task.maxRetries`, maxRetries, expected);
  }
}

/** Made for an error alone: there are thousands of outcomes a second. */
function fieldOf(i: number): string {
  return `finalize.outcomes[${i}]`;
}

/** @throws OptionsError when an outcome has no result, or its task was not claimed by this spec, or is named twice. */
export function endsOf(spec: Spec, given: Outcome | readonly Outcome[]): readonly End[] {
  const outcomes: readonly Outcome[] = Array.isArray(given) ? given : [given];
  for (let i = 0; i < outcomes.length; i++) checkOutcome(outcomes[i]!, i);
  const tasks = outcomes.map(({ task }) => task);
  checkClaims("finalize", "outcomes", spec, tasks);
  for (let i = 0; i < tasks.length; i++) checkTries(tasks[i]!, i);
  return outcomes.map((outcome) => ({ outcome, next: transition(spec, outcome.task, outcome.result) }));
}

/**
 * What sets the end apart from a plain completion, as a document; null where nothing does.
 *
 * @param i which of several it is, for errors
 */
export function documentOf(spec: Spec, { outcome: { task, payload }, next }: End, i?: number): string | null {
  if (next.isDeleted) return '{"deletes":true}';
  const members: string[] = [];
  if (next.status !== "completed") members.push(`"status":"${next.status}"`);
  if (next.attempt !== task.attempt) members.push(`"attempt":${next.attempt}`);
  if (next.delay !== null) members.push(`"delay":${next.delay}`);
  if (next.output && next.output.value !== null)
    members.push(`"output":${exactJson(next.output.value, `${rootOf(i)}output`)}`);
  if (next.failure) members.push(`"failure":${JSON.stringify({ attempt: task.attempt, ...next.failure })}`);
  if (payload !== undefined && next.keepsPayload)
    members.push(`"payload":${encodePayload(spec, payload, `${rootOf(i)}payload`).json}`);
  return members.length > 0 ? `{${members}}` : null;
}

function rootOf(i: number | undefined): string {
  return i === undefined ? "" : `${fieldOf(i)}.`;
}
