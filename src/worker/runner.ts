import type { TimeoutError } from "../errors.ts";
import type { Claimed } from "../queries/claimed.ts";
import { contextOf } from "./context.ts";
import type { Host, Registration } from "./host.ts";
import { insist } from "./insist.ts";
import { Lease } from "./lease.ts";
import { outcomeOf } from "./outcome.ts";
import type { Quarantine } from "./quarantine.ts";
import type { Run } from "./run.ts";
import type { Settler } from "./settler.ts";
import type { Slots } from "./slots.ts";

interface Shared {
  readonly slots: Slots;
  readonly quarantine: Quarantine;
  readonly settler: Settler;
}

/** Runs the claimed tasks of one spec. */
export class Runner {
  readonly #host: Host;
  readonly #registration: Registration;
  readonly #shared: Shared;
  readonly #runs = new Map<Run, Promise<void>>();
  #begun = 0;
  #late = 0;

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

  /** How many handlers were begun here, and how many tasks came too late to be begun and were given back. */
  get counts(): { readonly begun: number; readonly late: number } {
    return { begun: this.#begun, late: this.#late };
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
    const { slots, quarantine } = this.#shared;
    const { task, lease } = run;
    lease.watch();
    const leave = task.crashed ? quarantine.enter(quarantineOf(task)) : undefined;
    try {
      if (task.crashed && !leave) await this.#release(run);
      else if (await this.#mayBegin(run)) await this.#work(run);
      else await this.#comeLate(run);
    } catch (error) {
      this.#report("begin", task, error);
    } finally {
      leave?.();
      lease.release();
      this.#runs.delete(run);
      slots.give(1);
    }
  }

  async #mayBegin(run: Run): Promise<boolean> {
    const { db, pgqueue, closing } = this.#host;
    const { spec } = this.#registration;
    const isWanted = () => run.lease.isUsable && !closing.aborted;
    if (run.task.attempt <= 1) return isWanted();
    const isMarked = await insist(this.#host, spec, run, () => pgqueue.markStarted(db, spec, run.task), isWanted);
    return isMarked && isWanted();
  }

  async #comeLate(run: Run): Promise<void> {
    if (!this.#host.closing.aborted) this.#late++;
    await this.#release(run);
  }

  async #release(run: Run): Promise<void> {
    const { db, pgqueue } = this.#host;
    const { spec } = this.#registration;
    try {
      await insist(this.#host, spec, run, () => pgqueue.release(db, spec, run.task));
    } catch (error) {
      this.#report("release", run.task, error);
    }
  }

  async #work(run: Run): Promise<void> {
    run.beganAt = performance.now();
    this.#begun++;
    const outcome = await outcomeOf(this.#registration, run, {
      contextOf: (changes) => contextOf(this.#host, this.#registration, run, changes),
      warn: (message) => this.#host.report({ type: "warning", message }),
    });
    this.#shared.settler.settle(run, outcome, performance.now() - run.beganAt);
  }

  #report(during: "begin" | "release", { id, queue }: Claimed, error: unknown): void {
    this.#host.report({ type: "error", during, queue, taskId: id, error });
  }
}

/**
 * How long a suspect runs without killing the process before the next one may begin beside it: longer with each try, so
 * that those which fell beside a deadly one are kept from it in the end.
 */
function quarantineOf({ attempt }: Claimed): number {
  return Math.min(1_000 * 5 ** (attempt - 2), 60_000);
}
