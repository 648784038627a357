import { ConflictError, StaleClaimError, type TimeoutError } from "../errors.ts";
import type { Claimed } from "../queries/claimed.ts";
import type { Outcome } from "../queries/finalize.ts";
import { milliseconds } from "../tasks/duration.ts";
import { parsePayload } from "../tasks/payload.ts";
import { done, fail, isResult, type Result, retry } from "../tasks/result.ts";
import { transition } from "../tasks/transition.ts";
import type { Context, Job } from "./handler.ts";
import type { Host, Registration } from "./host.ts";
import type { Lane } from "./lane.ts";
import { Lease } from "./lease.ts";
import type { Run } from "./run.ts";
import type { Settler } from "./settler.ts";
import type { Slots } from "./slots.ts";
import { changeDetector } from "./snapshot.ts";

interface Shared {
  readonly slots: Slots;
  /** For tasks whose last run was ended by the reaper: a deadly one must take nobody with it again. */
  readonly suspects: Lane;
  readonly settler: Settler;
}

/** A suspect that has run so long without killing the process lets the next one begin beside it. */
const longestQuarantine = 10_000;

/** Runs the claimed tasks of one spec. */
export class Runner {
  readonly #host: Host;
  readonly #registration: Registration;
  readonly #shared: Shared;
  readonly #runs = new Map<Run, Promise<void>>();

  constructor(host: Host, registration: Registration, shared: Shared) {
    this.#host = host;
    this.#registration = registration;
    this.#shared = shared;
  }

  /** Takes over a claimed task and the slot that was taken for it. `sentAt` is when its claim was sent. */
  start(task: Claimed, sentAt: number): void {
    const run: Run = { task, lease: new Lease(this.#registration.spec, task, sentAt) };
    this.#runs.set(run, this.#pass(run));
  }

  /** The runs whose handler is at work. */
  get working(): Run[] {
    return [...this.#runs.keys()].filter((run) => run.beganAt !== undefined);
  }

  /** Resolves when no claimed task is left here. */
  async idle(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all(this.#runs.values());
  }

  /** Tells every handler at work to stop. */
  abort(reason: TimeoutError): void {
    for (const run of this.#runs.keys()) run.lease.abort(reason);
  }

  async #pass(run: Run): Promise<void> {
    const { slots, suspects } = this.#shared;
    const { task, lease } = run;
    lease.watch();
    const leave = task.crashed ? await suspects.enter(AbortSignal.any([this.#host.closing, lease.signal])) : undefined;
    const quarantine = leave && setTimeout(leave, longestQuarantine);
    try {
      if (leave) await this.#renew(run);
      if (await this.#mayBegin(run)) await this.#work(run);
      else await this.#release(run);
    } catch (error) {
      this.#report(error);
    } finally {
      clearTimeout(quarantine);
      leave?.();
      lease.release();
      this.#runs.delete(run);
      slots.give(1);
    }
  }

  /** The wait for its turn is not taken from what a suspect has for its work: it would run out of time, and be charged. */
  async #renew({ task, lease }: Run): Promise<void> {
    const { spec } = this.#registration;
    const sentAt = performance.now();
    const extended = await this.#host.pgqueue.extendLease(this.#host.db, spec, task);
    if (extended.length > 0) lease.extend(sentAt, spec.leaseDuration);
  }

  async #mayBegin({ task, lease }: Run): Promise<boolean> {
    const isWanted = () => lease.isUsable && !this.#host.closing.aborted;
    if (!isWanted()) return false;
    if (task.attempt <= 1) return true;
    const marked = await this.#host.pgqueue.markStarted(this.#host.db, this.#registration.spec, task);
    return marked.length > 0 && isWanted();
  }

  async #release({ task }: Run): Promise<void> {
    await this.#host.pgqueue.release(this.#host.db, this.#registration.spec, task);
  }

  async #work(run: Run): Promise<void> {
    run.beganAt = performance.now();
    const outcome = await this.#outcomeOf(run);
    this.#shared.settler.settle(run, outcome, performance.now() - run.beganAt);
  }

  async #outcomeOf(run: Run): Promise<Outcome> {
    const { spec, handler } = this.#registration;
    const { task } = run;
    let payload: unknown;
    try {
      payload = parsePayload(spec, task);
    } catch (error) {
      return { task, result: fail(error) };
    }
    const job = jobOf(spec.maxRetries, task, payload);
    const wasChanged = changeDetector(payload);
    const changes = (result: Result) =>
      transition(spec, task, result).keepsPayload && wasChanged(job.payload)
        ? { payload: this.#encode(job.payload) }
        : {};
    try {
      const returned = await handler(job, this.#context(run, changes));
      const result = this.#resultOf(run, returned);
      return { task, result, ...changes(result) };
    } catch (error) {
      return { task, result: retry(error) };
    }
  }

  #resultOf(run: Run, returned: unknown): Result {
    if (isResult(returned)) return returned;
    if (returned !== undefined) {
      const { queue } = this.#registration.spec;
      const message = `the handler of queue "${queue}" returned something that is no result, which is taken as done()`;
      this.#host.report({ type: "warning", message });
    }
    return run.finalized ?? done();
  }

  #encode(payload: unknown): unknown {
    const { encode } = this.#registration.spec;
    return encode ? encode(payload) : payload;
  }

  #context(run: Run, changes: (result: Result) => { payload?: unknown }): Context {
    const { db, pgqueue, workerId } = this.#host;
    const { spec } = this.#registration;
    const { task, lease } = run;
    return {
      signal: lease.signal,
      workerId,
      extendLease: async (duration = spec.leaseDuration) => {
        const length = milliseconds("extendLease.duration", duration, 1);
        const sentAt = performance.now();
        const [extended] = await pgqueue.extendLease(db, spec, task, length);
        if (extended) return lease.extend(sentAt, length);
        const [held] = await pgqueue.heldBy(db, spec, [task]);
        if (held?.holding === "busy") {
          throw new ConflictError(`the lease of task ${task.id} was not extended: an open transaction holds its row`);
        }
        const stale = new StaleClaimError(spec.queue, task.id);
        lease.abort(stale);
        throw stale;
      },
      finalize: async (tx, result) => {
        await pgqueue.finalizeOrThrow(tx, spec, { task, result, ...changes(result) });
        run.finalized = result;
      },
    };
  }

  #report(error: unknown): void {
    this.#host.report({ type: "error", during: "start", queue: this.#registration.spec.queue, error });
  }
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
