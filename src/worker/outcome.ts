import { ConflictError } from "../errors.ts";
import type { Claimed } from "../queries/claimed.ts";
import type { Outcome } from "../queries/ends.ts";
import { parsePayload } from "../tasks/payload.ts";
import { done, fail, isResult, type Result, retry } from "../tasks/result.ts";
import type { Context, Job } from "./handler.ts";
import type { Registration } from "./host.ts";
import { PayloadChanges } from "./payload-change.ts";
import type { Run } from "./run.ts";

/** One run of a handler, as far as it matters what comes of it. */
type Handled = Pick<Run, "task" | "finalized" | "failed" | "size">;

interface Surroundings<R extends Handled> {
  /** What the handler works with. */
  contextOf(run: R, changes: PayloadChanges): Context;
  warn(message: string): void;
}

/** Runs the handler on a claimed task. Whatever the handler does, there is an outcome. */
export async function outcomeOf<R extends Handled>(
  { spec, handler }: Registration,
  run: R,
  surroundings: Surroundings<R>,
): Promise<Outcome> {
  const { task } = run;
  let payload: unknown;
  try {
    payload = parsePayload(spec, task);
  } catch (error) {
    return { task, result: fail(error) };
  }
  const job = jobOf(spec.maxRetries, task, payload);
  const changes = new PayloadChanges(spec, job);
  run.size = changes.size;
  try {
    const returned = await handler(job, surroundings.contextOf(run, changes));
    const result = resultOf(spec.queue, run.finalized, returned, surroundings.warn);
    return { task, result, payload: changes.keptBy(result).payload };
  } catch (error) {
    run.failed = true;
    return { task, result: retry(error) };
  }
}

function resultOf(
  queue: string,
  finalized: Result | undefined,
  returned: unknown,
  warn: (message: string) => void,
): Result {
  if (!isResult(returned)) {
    if (returned !== undefined) {
      warn(`the handler of queue "${queue}" returned something that is no result, which is taken as done()`);
    }
    // What ctx.finalize said stands if its transaction committed; this is for when it did not.
    return finalized ? retry(new ConflictError("the transaction of ctx.finalize was rolled back")) : done();
  }
  if (finalized && finalized.type !== returned.type) {
    warn(`the handler of queue "${queue}" said ${finalized.type} to ctx.finalize, then returned ${returned.type}`);
  }
  return returned;
}

function jobOf(maxRetries: number, task: Claimed, payload: unknown): Job<any, any> {
  const { id, queue, key, attempt, runAt, createdAt, meta, columns } = task;
  return {
    id,
    queue,
    key,
    payload,
    attempt,
    maxRetries: task.maxRetries ?? maxRetries,
    runAt,
    createdAt,
    meta,
    columns,
  };
}
