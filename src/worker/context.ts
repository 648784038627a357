import { ConflictError, OptionsError, StaleClaimError } from "../errors.ts";
import type { Db } from "../queries/statement.ts";
import { type Duration, milliseconds } from "../tasks/duration.ts";
import { isResult, type Result } from "../tasks/result.ts";
import type { Spec } from "../tasks/spec.ts";
import type { Context } from "./handler.ts";
import type { Host, Registration } from "./host.ts";
import { pause } from "./pause.ts";
import type { PayloadChanges } from "./payload-change.ts";
import type { Run } from "./run.ts";

// Two extensions at once skip each other's lock, which is over in a moment.
const mostTries = 20;
const pauseBetweenTries = 25;

/**
 * What a handler works with. Of a class, since most handlers use none of it, and an object literal with these members costs
 * more than all else of a short run. The functions come from getters, so that a handler may take them off it.
 */
export class RunContext implements Context {
  readonly #host: Host;
  readonly #spec: Spec;
  readonly #run: Run;
  readonly #changes: PayloadChanges;

  constructor(host: Host, { spec }: Registration, run: Run, changes: PayloadChanges) {
    this.#host = host;
    this.#spec = spec;
    this.#run = run;
    this.#changes = changes;
  }

  get signal(): AbortSignal {
    return this.#run.lease.signal;
  }

  get workerId(): string {
    return this.#host.workerId;
  }

  get extendLease(): Context["extendLease"] {
    return (duration) => this.#extendLease(duration);
  }

  get finalize(): Context["finalize"] {
    return (tx, result) => this.#finalize(tx, result);
  }

  async #extendLease(duration: Duration = this.#spec.leaseDuration): Promise<void> {
    const { db, pgqueue } = this.#host;
    const { task, lease } = this.#run;
    const length = milliseconds("extendLease.duration", duration, 1);
    for (let tries = 1; tries <= mostTries; tries++) {
      const sentAt = performance.now();
      const [extended] = await pgqueue.extendLease(db, this.#spec, task, length);
      if (extended) return lease.extend(sentAt, length);
      const [held] = await pgqueue.heldBy(db, this.#spec, [task]);
      if (held?.holding !== "busy") {
        const stale = new StaleClaimError(this.#spec.queue, task.id);
        lease.abort(stale);
        throw stale;
      }
      await pause(pauseBetweenTries, lease.signal);
    }
    throw new ConflictError(`the lease of task ${task.id} was not extended: an open transaction holds its row`);
  }

  async #finalize(tx: Db, result: Result): Promise<void> {
    if (!isResult(result)) throw new OptionsError("finalize.result", result, "done(), retry(), fail() or skip()");
    const { task } = this.#run;
    await this.#host.pgqueue.finalizeOrThrow(tx, this.#spec, { task, result, ...this.#changes.keptBy(result) });
    this.#run.finalized = result;
  }
}
