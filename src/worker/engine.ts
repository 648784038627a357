import { TimeoutError } from "../errors.ts";
import type { Spec } from "../tasks/spec.ts";
import { Claimer } from "./claimer.ts";
import type { Host, Registration } from "./host.ts";
import { keepListening } from "./listener.ts";
import { endsWithin } from "./pause.ts";
import { Poller } from "./poller.ts";
import { Prefetch } from "./prefetch.ts";
import { prepare } from "./prepare.ts";
import { keepPurging, purgeNow } from "./purger.ts";
import { Quarantine } from "./quarantine.ts";
import { keepReaping } from "./reaper.ts";
import { Runner } from "./runner.ts";
import { Settler } from "./settler.ts";
import { Slots } from "./slots.ts";
import { keepWatching } from "./watcher.ts";

interface Settings {
  readonly concurrency: number;
  readonly listen: boolean;
  /** Milliseconds. */
  readonly reapInterval: number;
}

/** What runs the tasks of one spec. */
interface Pipeline {
  readonly registration: Registration;
  readonly claimer: Claimer;
  readonly settler: Settler;
  readonly runner: Runner;
  readonly poller: Poller;
}

/** A worker at work: one pipeline for each spec, sharing the slots. */
export class Engine {
  readonly #host: Host;
  readonly #registrations: readonly Registration[];
  readonly #settings: Settings;
  readonly #slots: Slots;
  readonly #pipelines: Pipeline[];
  #loops: Promise<unknown> = Promise.resolve();

  constructor(host: Host, registrations: readonly Registration[], settings: Settings) {
    this.#host = host;
    this.#registrations = registrations;
    this.#settings = settings;
    this.#slots = new Slots(settings.concurrency);
    const quarantine = new Quarantine(() => {
      for (const { poller } of this.#pipelines) poller.wakeForSuspects();
    });
    this.#pipelines = registrations.map((registration) => this.#pipeline(registration, quarantine));
  }

  async start(): Promise<void> {
    await this.prepare();
    if (this.#host.closing.aborted) return;
    this.#loops = Promise.all([this.#listen(), ...this.#pipelines.flatMap((pipeline) => this.#loopsOf(pipeline))]);
  }

  /** What has to be before the first claim. */
  prepare(): Promise<void> {
    return prepare(this.#host, this.#registrations);
  }

  /** Runs what is due until nothing is, and deletes what is kept no longer. Resolves to the number of runs. */
  async drain(): Promise<number> {
    await prepare(this.#host, this.#registrations, { waits: false });
    const before = this.#begun;
    for (let isDone = false; !isDone; ) {
      const begun = this.#begun;
      let taken = 0;
      for (const { poller } of this.#pipelines) taken += await poller.take();
      await this.#idle();
      isDone = taken === 0 || this.#begun === begun;
    }
    for (const { spec } of this.#registrations) if (spec.kind === "job") await purgeNow(this.#host, spec);
    return this.#begun - before;
  }

  /** Claims once for one spec, and waits until all that it began is settled. Resolves to how much that was. */
  async runOnce(spec: Spec): Promise<number> {
    const pipeline = this.#pipelines.find(({ registration }) => registration.spec === spec);
    const taken = (await pipeline?.poller.take()) ?? 0;
    await this.#idle();
    return taken;
  }

  /** Ends what is under way; `closing` has fired before. */
  async stop(timeout: number): Promise<void> {
    this.#slots.close();
    for (const { runner } of this.#pipelines) runner.close();
    this.#wake(() => true);
    const ended = this.#ended();
    if (await endsWithin(timeout, ended)) return;
    for (const { runner } of this.#pipelines) runner.abort(new TimeoutError("stop", timeout));
    const atWork = this.#pipelines.filter(({ runner, settler }) => runner.working.length > 0 || !settler.isIdle);
    const grace = Math.max(0, ...atWork.map(({ registration }) => registration.spec.finalizeBuffer));
    if (!(await endsWithin(grace, ended))) this.#abandon();
  }

  #pipeline(registration: Registration, quarantine: Quarantine): Pipeline {
    const slots = this.#slots;
    const prefetch = new Prefetch(this.#settings.concurrency, registration.spec.leaseDuration);
    const claimer = new Claimer(this.#host, registration);
    const settler = new Settler(this.#host, registration, (delay) => poller.expect(delay));
    const onReturned = () => {
      claimer.rescan();
      poller.wake();
    };
    const runner = new Runner(this.#host, registration, { slots, quarantine, settler, prefetch, onReturned });
    const poller = new Poller(this.#host, registration, { claimer, runner, settler, slots, quarantine, prefetch });
    return { registration, claimer, settler, runner, poller };
  }

  #loopsOf({ registration, claimer, runner, poller }: Pipeline): Promise<void>[] {
    // Not waited for: it looks after handlers as long as there are any, and ends when the worker has stopped.
    void keepWatching(this.#host, registration, runner);
    const { spec } = registration;
    return [
      poller.run(),
      keepReaping(this.#host, registration, claimer, this.#settings.reapInterval),
      ...(spec.kind === "job" ? [keepPurging(this.#host, spec)] : []),
    ];
  }

  async #listen(): Promise<void> {
    if (!this.#settings.listen) return;
    await keepListening(this.#host, {
      onQueue: (queue) => this.#wake(({ registration }) => registration.spec.queue === queue),
      onSilence: () => this.#wake(() => true),
    });
  }

  get #begun(): number {
    return this.#pipelines.reduce((sum, { runner }) => sum + runner.counts.begun, 0);
  }

  #wake(isMeant: (pipeline: Pipeline) => boolean): void {
    for (const pipeline of this.#pipelines) if (isMeant(pipeline)) pipeline.poller.wake();
  }

  async #ended(): Promise<void> {
    await this.#loops;
    await this.#idle();
    // The loops that would give back an unanswered claim in time have ended.
    await Promise.allSettled(this.#pipelines.map(({ claimer }) => claimer.recover()));
  }

  async #idle(): Promise<void> {
    await Promise.all(this.#pipelines.map(({ runner }) => runner.idle()));
    await Promise.all(this.#pipelines.map(({ settler }) => settler.idle()));
  }

  #abandon(): void {
    for (const { runner, settler } of this.#pipelines) {
      for (const { task } of runner.working) {
        this.#host.report({ type: "abandoned", queue: task.queue, taskId: task.id });
      }
      settler.abandon();
    }
  }
}
