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

function checkOutcome(field: string, outcome: Outcome): void {
  if (typeof outcome !== "object" || outcome === null) {
    throw new OptionsError(field, outcome, "an object with the task and its result");
  }
  for (const [name, value] of Object.entries(outcome)) {
    if (!members.has(name)) throw new OptionsError(`${field}.${name}`, value, `one of ${[...members].join(", ")}`);
  }
  const { result } = outcome;
  if (!isResult(result)) throw new OptionsError(`${field}.result`, result, "done(), retry(), fail() or skip()");
}

function checkTries(field: string, { attempt, maxRetries }: Claimed): void {
  if (!Number.isInteger(attempt)) throw new OptionsError(`${field}.attempt`, attempt, "a task that claim returned");
  if (maxRetries !== null && !Number.isInteger(maxRetries)) {
    throw new OptionsError(`${field}.maxRetries`, maxRetries, "a task that claim returned");
  }
}

/** @throws OptionsError when an outcome has no result, or its task was not claimed by this spec, or is named twice. */
export function endsOf(spec: Spec, given: Outcome | readonly Outcome[]): readonly End[] {
  const outcomes: readonly Outcome[] = Array.isArray(given) ? given : [given];
  for (const [i, outcome] of outcomes.entries()) checkOutcome(`finalize.outcomes[${i}]`, outcome);
  const tasks = outcomes.map(({ task }) => task);
  checkClaims("finalize", "outcomes", spec, tasks);
  for (const [i, task] of tasks.entries()) checkTries(`finalize.outcomes[${i}].task`, task);
  return outcomes.map((outcome) => ({ outcome, next: transition(spec, outcome.task, outcome.result) }));
}

/**
 * What sets the end apart from a plain completion, as a document; null where nothing does.
 *
 * @param root what errors name before `payload` and `output`
 */
export function documentOf(spec: Spec, { outcome: { task, payload }, next }: End, root: string): string | null {
  if (next.isDeleted) return '{"deletes":true}';
  const members: string[] = [];
  if (next.status !== "completed") members.push(`"status":"${next.status}"`);
  if (next.attempt !== task.attempt) members.push(`"attempt":${next.attempt}`);
  if (next.delay !== null) members.push(`"delay":${next.delay}`);
  if (next.output && next.output.value !== null)
    members.push(`"output":${exactJson(next.output.value, `${root}output`)}`);
  if (next.failure) members.push(`"failure":${JSON.stringify({ attempt: task.attempt, ...next.failure })}`);
  if (payload !== undefined && next.keepsPayload)
    members.push(`"payload":${encodePayload(spec, payload, `${root}payload`).json}`);
  return members.length > 0 ? `{${members}}` : null;
}
