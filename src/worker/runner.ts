import type { TimeoutError } from "../errors.ts";
import type { Claimed } from "../queries/claimed.ts";
import type { Outcome } from "../queries/ends.ts";
import { Ahead } from "./ahead.ts";
import { mark, mustBeMarked } from "./begun.ts";
import { contextOf } from "./context.ts";
import type { Host, Registration } from "./host.ts";
import { Lease } from "./lease.ts";
import { outcomeOf } from "./outcome.ts";
import type { Prefetch } from "./prefetch.ts";
import type { Place, Quarantine } from "./quarantine.ts";
import { release } from "./release.ts";
import type { Run } from "./run.ts";
import type { Settler } from "./settler.ts";
import type { Slots } from "./slots.ts";
import { Suspects } from "./suspects.ts";
import { afterThisTurn } from "./turn.ts";
import { jsonLength, weightOf } from "./weight.ts";

/** A task that waits longer than this for its turn is given back. */
const longestWait = 1_000;
const partOfLease = 1 / 20;
/** To begin so many handlers keeps the thread for a while. */
const many = 100;

interface Shared {
  readonly slots: Slots;
  readonly quarantine: Quarantine;
  readonly settler: Settler;
  readonly prefetch: Prefetch;
  /** Tasks are pending again that were claimed before. */
  onReturned(): void;
}

/** Runs the claimed tasks of one spec, each in a slot. */
export class Runner {
  readonly #host: Host;
  readonly #registration: Registration;
  readonly #shared: Shared;
  readonly #surroundings: Parameters<typeof outcomeOf<Run>>[2];
  readonly #runs = new Set<Run>();
  #whenEmpty: (() => void)[] = [];
  readonly #ahead: Ahead;
  readonly #suspects: Suspects;
  readonly #returns = new Set<Promise<void>>();
  #isAsking = false;
  #begun = 0;
  #late = 0;

  constructor(host: Host, registration: Registration, shared: Shared) {
    this.#host = host;
    this.#registration = registration;
    this.#shared = shared;
    this.#surroundings = {
      contextOf: (run, changes) => contextOf(host, registration, run, changes),
      warn: (message) => host.report({ type: "warning", message }),
    };
    const wait = Math.min(longestWait, registration.spec.leaseDuration * partOfLease);
    this.#ahead = new Ahead(wait, (tired) => {
      // Handlers turned out slower than they were.
      shared.prefetch.waited(wait, 1);
      this.#giveBack(tired);
    });
    this.#suspects = new Suspects({
      quarantine: shared.quarantine,
      slots: shared.slots,
      begin: (run, place) => this.#begin(run, place),
      giveBack: (runs) => this.#giveBack(runs),
      longestWait: wait,
    });
  }

  /**
   * Takes over claimed tasks, and of the slots that were taken for them as many as it returns; the others wait for one.
   * `sentAt` is when their claim was sent.
   */
  start(tasks: readonly Claimed[], sentAt: number, slots: number): number {
    // It tells most of those to come.
    const newest = tasks.at(-1);
    if (newest) this.#shared.prefetch.weighed(jsonLength(newest.payload));
    const runs = this.#runsOf(tasks, sentAt);
    this.#suspects.add(runs.filter(({ task }) => task.crashed));
    const others = runs.filter(({ task }) => !task.crashed);
    if (others.length >= many) {
      this.#startSoon(others, slots);
      return slots;
    }
    for (const run of others.slice(0, slots)) this.#begin(run);
    if (others.length > slots) {
      this.#ahead.add(others.slice(slots));
      this.#ask();
    }
    return Math.min(others.length, slots);
  }

  /** After this turn of the event loop, in which the next claim is sent: Postgres is at work on it while handlers begin. */
  #startSoon(runs: readonly Run[], slots: number): void {
    this.#ahead.add(runs);
    void afterThisTurn().then(() => {
      let left = slots;
      while (left > 0 && this.#ahead.size > 0) {
        this.#begin(this.#ahead.next()!.run);
        left--;
      }
      this.#shared.slots.give(left);
      this.#ask();
    });
  }

  /** Gives claimed tasks back that are not wanted any more. */
  giveBack(tasks: readonly Claimed[], sentAt: number): void {
    this.#giveBack(this.#runsOf(tasks, sentAt));
  }

  #runsOf(tasks: readonly Claimed[], sentAt: number): Run[] {
    return tasks.map((task) => ({ task, lease: new Lease(this.#registration.spec, task, sentAt) }));
  }

  /** How many handlers were begun here, and how many tasks came too late to be begun and were given back. */
  get counts(): { readonly begun: number; readonly late: number } {
    return { begun: this.#begun, late: this.#late };
  }

  /** How many claimed tasks wait for a slot. */
  get ahead(): number {
    return this.#ahead.size;
  }

  /** Resolves when no more than so many wait for a slot. */
  low(most: number): Promise<void> {
    return this.#ahead.low(most);
  }

  /** The runs whose handler is at work. */
  get working(): Run[] {
    return [...this.#runs].filter((run) => run.beganAt !== undefined);
  }

  /** Resolves when no claimed task is left here. */
  async idle(): Promise<void> {
    while (this.#runs.size > 0 || this.#returns.size > 0 || this.#ahead.size > 0 || this.#suspects.size > 0) {
      await Promise.all([this.#empty(), ...this.#returns, this.low(0), this.#suspects.empty()]);
    }
  }

  /** Begins nothing more: gives back what waits. */
  close(): void {
    this.#giveBack([...this.#ahead.close(), ...this.#suspects.close()]);
  }

  /** Tells every handler at work to stop. */
  abort(reason: TimeoutError): void {
    for (const run of this.#runs) run.lease.abort(reason);
  }

  #empty(): Promise<void> {
    if (this.#runs.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  #begin(run: Run, place?: Place): void {
    this.#runs.add(run);
    void this.#pass(run, place);
  }

  async #pass(run: Run, place: Place | undefined): Promise<void> {
    const { task, lease } = run;
    lease.watch();
    try {
      if (this.#isWanted(run) && (!mustBeMarked(this.#registration, task) || (await this.#mark(run)))) {
        run.beganAt = performance.now();
        this.#begun++;
        this.#ended(run, run.beganAt, await outcomeOf(this.#registration, run, this.#surroundings));
      } else await this.#comeLate(run);
    } catch (error) {
      this.#host.report({ type: "error", during: "begin", queue: task.queue, taskId: task.id, error });
    } finally {
      place?.leave();
      lease.release();
      this.#runs.delete(run);
      this.#passOn();
      if (this.#runs.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
    }
  }

  #isWanted(run: Run): boolean {
    return run.lease.isUsable && !this.#host.closing.aborted;
  }

  async #mark(run: Run): Promise<boolean> {
    const isWanted = () => this.#isWanted(run);
    return (await mark(this.#host, this.#registration, run, isWanted)) && isWanted();
  }

  async #comeLate(run: Run): Promise<void> {
    if (!run.lease.isUsable && !this.#host.closing.aborted) this.#late++;
    await release(this.#host, this.#registration, [run]);
    this.#shared.onReturned();
  }

  #ended(run: Run, beganAt: number, outcome: Outcome): void {
    const duration = performance.now() - beganAt;
    this.#shared.prefetch.ran(duration);
    this.#shared.prefetch.weighed((run.size ?? 0) + weightOf(outcome));
    this.#shared.settler.settle(run, outcome, duration);
  }

  /** A slot of this runner's is free: for the next task here, unless others wait for it. */
  #passOn(): void {
    const { slots } = this.#shared;
    const others = slots.waiting - (this.#isAsking ? 1 : 0);
    if (others === 0 && this.#beginNext()) return;
    slots.give(1);
    this.#ask();
  }

  #beginNext(): boolean {
    const waiting = this.#ahead.next();
    if (!waiting) return false;
    this.#shared.prefetch.waited(performance.now() - waiting.since, waiting.place);
    this.#begin(waiting.run);
    return true;
  }

  /** Stands in line for the slots that others give. */
  #ask(): void {
    if (this.#isAsking || this.#ahead.size === 0 || this.#host.closing.aborted) return;
    this.#isAsking = true;
    void this.#shared.slots.take(this.#ahead.size).then((taken) => {
      this.#isAsking = false;
      let left = taken;
      while (left > 0 && this.#beginNext()) left--;
      this.#shared.slots.give(left);
      this.#ask();
    });
  }

  #giveBack(runs: readonly Run[]): void {
    if (runs.length === 0) return;
    const returned = release(this.#host, this.#registration, runs).then(() => {
      this.#returns.delete(returned);
      this.#shared.onReturned();
    });
    this.#returns.add(returned);
  }
}
