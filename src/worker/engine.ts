import { sql } from "drizzle-orm";
import { TimeoutError } from "../errors.ts";
import { primary } from "../queries/statement.ts";
import type { TickerSpec } from "../tasks/spec.ts";
import { Backoff } from "./backoff.ts";
import { Claimer } from "./claimer.ts";
import { throughConflicts } from "./conflict.ts";
import { isOutage } from "./fault.ts";
import type { Host, Registration } from "./host.ts";
import { Lane } from "./lane.ts";
import { listen } from "./listener.ts";
import { endsWithin } from "./pause.ts";
import { Poller } from "./poller.ts";
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

const longestUnlisten = 1_000;

/** What runs the tasks of one spec. */
interface Line {
  readonly registration: Registration;
  readonly claimer: Claimer;
  readonly settler: Settler;
  readonly runner: Runner;
  readonly poller: Poller;
}

/** A worker at work: one line for each spec, sharing the slots. */
export class Engine {
  readonly #host: Host;
  readonly #settings: Settings;
  readonly #slots: Slots;
  readonly #lines: Line[];
  #loops: Promise<unknown> = Promise.resolve();
  #listening: Promise<() => Promise<void>> | undefined;

  constructor(host: Host, registrations: readonly Registration[], settings: Settings) {
    this.#host = host;
    this.#settings = settings;
    this.#slots = new Slots(settings.concurrency);
    const suspects = new Lane();
    this.#lines = registrations.map((registration) => this.#line(registration, suspects));
  }

  async start(): Promise<void> {
    await this.#untilReachable(() => this.#prepare());
    if (this.#host.closing.aborted) return;
    this.#loops = Promise.all(this.#lines.flatMap((line) => this.#loopsOf(line)));
    if (!this.#settings.listen) return;
    this.#listening = listen(this.#host, {
      onQueue: (queue) => this.#wake((line) => line.registration.spec.queue === queue),
      onSilence: () => this.#wake(() => true),
    });
    await this.#listening;
  }

  /** Runs what is due until nothing is. Resolves to the number of runs. */
  async drain(): Promise<number> {
    await this.#prepare();
    let total = 0;
    for (;;) {
      let taken = 0;
      for (const { poller } of this.#lines) taken += await poller.take();
      if (taken === 0) return total;
      total += taken;
      await this.#idle();
    }
  }

  /** Ends what is under way; `closing` has fired before. */
  async stop(timeout: number): Promise<void> {
    this.#slots.close();
    this.#wake(() => true);
    const ended = this.#ended();
    if (!(await endsWithin(timeout, ended))) {
      for (const { runner } of this.#lines) runner.abort(new TimeoutError("stop", timeout));
      const grace = Math.max(...this.#lines.map(({ registration }) => registration.spec.finalizeBuffer));
      if (!(await endsWithin(grace, ended))) this.#abandon();
    }
    // A server that is away must not keep the worker from stopping.
    if (this.#listening)
      await endsWithin(
        longestUnlisten,
        this.#listening.then((unlisten) => unlisten()),
      );
  }

  #line(registration: Registration, suspects: Lane): Line {
    const slots = this.#slots;
    const claimer = new Claimer(this.#host, registration);
    const settler = new Settler(this.#host, registration, (delay) => poller.expect(delay));
    const runner = new Runner(this.#host, registration, { slots, suspects, settler });
    const poller = new Poller(this.#host, registration, { claimer, runner, slots });
    return { registration, claimer, settler, runner, poller };
  }

  #loopsOf({ registration, claimer, runner, poller }: Line): Promise<void>[] {
    return [
      poller.run(),
      keepReaping(this.#host, registration, claimer, this.#settings.reapInterval),
      keepWatching(this.#host, registration, runner),
    ];
  }

  async #prepare(): Promise<void> {
    const { db, pgqueue } = this.#host;
    const [setting] = await primary("start", db)
      .select({ isolation: sql<string>`current_setting('default_transaction_isolation')` })
      .from(sql`(select 1) as one`);
    if (setting && setting.isolation !== "read committed") {
      const message = `the database's default isolation is "${setting.isolation}": claims will meet serialization failures and be sent again; "read committed" spares that`;
      this.#host.report({ type: "warning", message });
    }
    for (const { registration } of this.#lines) {
      const { spec } = registration;
      await throughConflicts(this.#host.closing, async () => {
        if (spec.kind === "ticker") await pgqueue.upsertTicker(db, spec as TickerSpec<any, any, any>);
        await pgqueue.reap(db, spec);
      });
    }
  }

  async #untilReachable(action: () => Promise<void>): Promise<void> {
    const backoff = new Backoff();
    while (!this.#host.closing.aborted) {
      try {
        return await action();
      } catch (error) {
        if (!isOutage(error)) throw error;
        this.#host.report({ type: "error", during: "start", error });
        await backoff.wait(this.#host.closing);
      }
    }
  }

  #wake(isMeant: (line: Line) => boolean): void {
    for (const line of this.#lines) if (isMeant(line)) line.poller.wake();
  }

  async #ended(): Promise<void> {
    await this.#loops;
    await this.#idle();
  }

  async #idle(): Promise<void> {
    await Promise.all(this.#lines.map(({ runner }) => runner.idle()));
    await Promise.all(this.#lines.map(({ settler }) => settler.idle()));
  }

  #abandon(): void {
    for (const { runner, settler } of this.#lines) {
      for (const { task } of runner.working) {
        this.#host.report({ type: "abandoned", queue: task.queue, taskId: task.id });
      }
      settler.abandon();
    }
  }
}
