import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import * as v from "valibot";
import { ConflictError, OptionsError } from "../errors.ts";
import { checkSpec } from "../queries/of-spec.ts";
import type { Pgqueue } from "../queries/pgqueue.ts";
import { type Db, primary } from "../queries/statement.ts";
import { milliseconds } from "../tasks/duration.ts";
import { checkOptions, durationOption, functionOption, integerOption, nameOption } from "../tasks/options.ts";
import type { JobSpec, Spec, TickerSpec } from "../tasks/spec.ts";
import { Engine } from "./engine.ts";
import { printEvent, type WorkerEvent } from "./event.ts";
import type { Handler } from "./handler.ts";
import type { Registration } from "./host.ts";
import { firing } from "./pause.ts";
import { failingLater, nextTurnOf } from "./turn.ts";
import type { RunOptions, StopOptions, Worker, WorkerOptions } from "./worker.ts";

/**
 * A worker on your tables. Several, in as many processes as you like, share the work.
 *
 * @throws OptionsError when an option is not what it should be: `db` no Drizzle database on Postgres, for example.
 * @example
 * const worker = createWorker({ db, pgqueue, concurrency: 20 });
 * worker.register(sendReceipt, async (job, { signal }) => {
 *   await mailer.send(job.payload, { signal });
 * });
 * await worker.run();
 */
export function createWorker<Select = {}, Insert = {}>(options: WorkerOptions<Select, Insert>): Worker<Select, Insert> {
  // What it knows of the user's columns is for the compiler alone.
  return new RegisteringWorker(options) as unknown as Worker<Select, Insert>;
}

/** What a worker keeps to itself. */
export interface InsideOfWorker {
  readonly db: Db;
  readonly pgqueue: Pgqueue<any, any>;
  readonly specs: readonly Spec[];
  prepare(): Promise<void>;
  /** Claims once for one spec, and waits until all that it began is settled. Resolves to how much that was. */
  runOnce(spec: Spec): Promise<number>;
  /** Tells of every event, until the returned function is called. */
  watch(listener: (event: WorkerEvent) => void): () => void;
}

/**
 * @throws OptionsError when it was not made by createWorker, or has no handlers.
 * @throws ConflictError when it was started or stopped.
 */
export function insideOf(call: string, worker: Worker<any, any>): InsideOfWorker {
  // The interface does not show what is private to the class.
  if ((worker as unknown) instanceof RegisteringWorker) return RegisteringWorker.inside(worker as never);
  throw new OptionsError(`${call}.worker`, worker, "a worker made by createWorker");
}

const workerOptions = v.strictObject({
  db: v.unknown(),
  pgqueue: v.custom(
    (value) => typeof (value as Partial<Pgqueue> | null)?.claim === "function",
    "what createPgqueue returns",
  ),
  concurrency: v.optional(integerOption(1, 10_000)),
  workerId: v.optional(nameOption),
  listen: v.optional(v.boolean()),
  reapInterval: v.optional(durationOption(1)),
  onEvent: v.optional(functionOption),
});
const runOptions = v.strictObject({
  signal: v.optional(v.custom((value) => value instanceof AbortSignal, "an AbortSignal")),
  timeout: v.optional(durationOption(0)),
});
const stopOptions = v.strictObject({ timeout: v.optional(durationOption(0)) });

/** Gathers specs and their handlers, then is an engine's switch. */
class RegisteringWorker {
  readonly workerId: string;
  readonly #options: WorkerOptions<any, any>;
  readonly #registrations: Registration[] = [];
  readonly #closing = new AbortController();
  readonly #closed = new AbortController();
  readonly #listeners = new Set<(event: WorkerEvent) => void>();
  #engine: Engine | undefined;
  #isStarted = false;
  #isDraining = false;
  #stopped: Promise<void> | undefined;

  constructor(options: WorkerOptions<any, any>) {
    checkOptions("createWorker", workerOptions, options);
    primary("createWorker", options.db);
    this.#options = options;
    // Each queue has several loops that listen: without this Node suspects a leak, and says so.
    setMaxListeners(0, this.#closing.signal, this.#closed.signal);
    this.workerId = options.workerId ?? `${hostname()}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`;
  }

  register(spec: JobSpec | TickerSpec<any, any, any>, handler: Handler<any, any>): this {
    if (this.#engine || this.#stopped)
      throw new ConflictError("register: the worker has begun already; register first");
    checkSpec("register", spec);
    if (typeof handler !== "function") throw new OptionsError("register.handler", handler, "a function");
    if (this.#registrations.some((other) => takes(other.spec) === takes(spec))) {
      throw new OptionsError("register.spec", takes(spec), "tasks that have no handler yet");
    }
    this.#registrations.push({ spec, handler });
    return this;
  }

  async start(): Promise<void> {
    const engine = this.#prepareEngine("start");
    this.#isStarted = true;
    try {
      // A database that does not answer at all must not keep a stopped worker from ending.
      await Promise.race([engine.start(), firing(this.#closing.signal)]);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async drain(): Promise<number> {
    const engine = this.#prepareEngine("drain");
    this.#isDraining = true;
    try {
      return await engine.drain();
    } finally {
      this.#isDraining = false;
    }
  }

  /** For `pgqueue/testing`, which moves time between the runs. */
  static inside(worker: RegisteringWorker): InsideOfWorker {
    const { db, pgqueue } = worker.#options;
    const engine = worker.#prepareEngine("drain");
    return {
      db,
      pgqueue,
      specs: worker.#registrations.map(({ spec }) => spec),
      prepare: () => engine.prepare(),
      runOnce: (spec) => engine.runOnce(spec),
      watch(listener) {
        worker.#listeners.add(listener);
        return () => worker.#listeners.delete(listener);
      },
    };
  }

  #prepareEngine(call: string): Engine {
    if (this.#stopped) throw new ConflictError(`${call}: the worker was stopped; create another`);
    if (this.#isStarted) throw new ConflictError(`${call}: the worker was started already`);
    if (this.#isDraining) throw new ConflictError(`${call}: the worker is being drained already`);
    if (this.#registrations.length === 0) {
      throw new OptionsError(
        call,
        this.#registrations,
        "a registered handler: call worker.register(spec, handler) first",
      );
    }
    const { db, pgqueue, concurrency = 10, listen = true, reapInterval = "30s" } = this.#options;
    const nextTurn = nextTurnOf(db);
    this.#engine ??= new Engine(
      {
        db,
        pgqueue: failingLater(pgqueue, nextTurn),
        nextTurn,
        workerId: this.workerId,
        closing: this.#closing.signal,
        closed: this.#closed.signal,
        report: (event) => this.#report(event),
      },
      this.#registrations,
      { concurrency, listen, reapInterval: milliseconds("createWorker.reapInterval", reapInterval) },
    );
    return this.#engine;
  }

  async run(options: RunOptions = {}): Promise<void> {
    checkOptions("run", runOptions, options);
    const { signal, timeout } = options;
    if (signal?.aborted) return this.stop({ timeout });
    const quit = () => void this.stop({ timeout });
    signal?.addEventListener("abort", quit, { once: true });
    try {
      await this.start();
      await firing(this.#closing.signal);
      await this.#stopped;
    } finally {
      signal?.removeEventListener("abort", quit);
    }
  }

  stop(options: StopOptions = {}): Promise<void> {
    try {
      checkOptions("stop", stopOptions, options);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#stopped ??= this.#stop(milliseconds("stop.timeout", options.timeout ?? "15s"));
    return this.#stopped;
  }

  async #stop(timeout: number): Promise<void> {
    this.#closing.abort();
    await this.#engine?.stop(timeout);
    this.#closed.abort();
  }

  /** Never throws, whatever is done with the event. */
  #report(event: WorkerEvent): void {
    for (const listener of this.#listeners) listener(event);
    // Whoever watches the runs is told of those that failed, and wants no print of them.
    const isSeen = this.#listeners.size > 0 && event.type === "settled";
    try {
      const told: unknown = (this.#options.onEvent ?? (isSeen ? undefined : printEvent))?.(event);
      // An async function is accepted where the type says that nothing is returned.
      if (told instanceof Promise) told.catch(complain);
    } catch (error) {
      complain(error);
    }
  }
}

function complain(error: unknown): void {
  try {
    console.error("pgqueue: onEvent threw:", error);
  } catch {
    console.error("pgqueue: onEvent threw an error that cannot be printed");
  }
}

/** The tasks that a spec takes, by name: two specs of one name would take each other's. */
function takes(spec: Spec): string {
  return spec.kind === "job" ? `jobs of "${spec.queue}"` : `ticker "${spec.key}" of "${spec.queue}"`;
}
