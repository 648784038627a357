import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import * as v from "valibot";
import { ConflictError, OptionsError } from "../errors.ts";
import type { Pgqueue } from "../queries/pgqueue.ts";
import { type Db, primary } from "../queries/statement.ts";
import { type Duration, milliseconds } from "../tasks/duration.ts";
import { checkOptions, durationOption, functionOption, integerOption, nameOption } from "../tasks/options.ts";
import type { JobSpec, Spec, TickerSpec } from "../tasks/spec.ts";
import { Engine } from "./engine.ts";
import { printEvent, type WorkerEvent } from "./event.ts";
import type { Handler } from "./handler.ts";
import type { Registration } from "./host.ts";
import { firing } from "./pause.ts";
import { failingLater } from "./turn.ts";

export interface WorkerOptions<Select = {}, Insert = {}> {
  /** Your database. To listen, postgres-js opens one connection beside its pool, and keeps it until the client is ended. */
  db: Db;
  /** Your statements, from `createPgqueue`. */
  pgqueue: Pgqueue<Select, Insert>;
  /** Handlers that may run at once, over all queues: 1 to 10,000. Default 10. */
  concurrency?: number | undefined;
  /** Written to `claimed_by`. Default: host, process and a random part. */
  workerId?: string | undefined;
  /** Whether to LISTEN for announced work, where the driver can (postgres-js, PGlite); otherwise polling alone. Default true. */
  listen?: boolean | undefined;
  /** How often expired leases are looked for; a queue with a short lease is looked at every half lease. Default 30 s. */
  reapInterval?: Duration | undefined;
  /** Told of every outcome and fault. Default: faults are printed with `console`. */
  onEvent?: ((event: WorkerEvent) => void) | undefined;
}

export interface StopOptions {
  /** How long handlers at work may take to end before their signal fires. Default 15 s. */
  timeout?: Duration | undefined;
}

export interface RunOptions extends StopOptions {
  /** Stops the worker when it fires. */
  signal?: AbortSignal | undefined;
}

/** The worker that `createWorker` makes of a set of statements, for a function that registers handlers on it. */
export type WorkerOf<P> = P extends Pgqueue<infer Select, infer Insert> ? Worker<Select, Insert> : never;

/** Runs the tasks of the specs registered with it. */
export interface Worker<Select = {}, Insert = {}> {
  readonly workerId: string;
  /**
   * Adds a spec and what runs its tasks.
   *
   * @throws OptionsError when the spec is none, or another spec registered would take the same tasks.
   * @throws ConflictError once the worker was started.
   */
  register<In, Out>(spec: JobSpec<In, Out> | TickerSpec<In, Out, Insert>, handler: Handler<NoInfer<Out>, Select>): this;
  /**
   * Runs what is due, over and over until nothing is, and resolves to the number of runs: for tests, scripts and functions
   * that are called from time to time. What is due later, such as a retry, is left. Not together with `start`.
   *
   * @throws as `start`
   * @example
   * await enqueue(db, sendReceipt, { orderId: 1 });
   * await worker.drain();
   */
  drain(): Promise<number>;
  /**
   * Creates the rows of tickers, then begins to claim. Waits for a database that is away.
   *
   * @throws OptionsError when nothing is registered.
   * @throws ConflictError when it was started or stopped before.
   * @throws SchemaError when a table or column is missing.
   */
  start(): Promise<void>;
  /**
   * Starts, and resolves when the worker has stopped: by `stop`, or when the signal fires.
   *
   * @throws as `start`
   * @example
   * const quit = new AbortController();
   * process.once("SIGTERM", () => quit.abort());
   * await worker.run({ signal: quit.signal });
   */
  run(options?: RunOptions): Promise<void>;
  /**
   * Claims nothing more, gives back at once what was claimed but not begun, and waits for handlers at work: first for
   * `timeout`, then, with their signal fired, for their `finalizeBuffer`. What still runs after that keeps its lease, and
   * is reported as abandoned. Further calls return the first one's promise. A stopped worker is not started again.
   */
  stop(options?: StopOptions): Promise<void>;
}

/**
 * A worker on your tables. Several, in as many processes as you like, share the work.
 *
 * @throws OptionsError
 * @example
 * const worker = createWorker({ db, pgqueue, concurrency: 20 });
 * worker.register(sendReceipt, async (job, { signal }) => {
 *   await mailer.send(job.payload, { signal });
 * });
 * await worker.run();
 */
export function createWorker<Select = {}, Insert = {}>(options: WorkerOptions<Select, Insert>): Worker<Select, Insert> {
  return new RegisteringWorker(options) as unknown as Worker<Select, Insert>;
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

class RegisteringWorker {
  readonly workerId: string;
  readonly #options: WorkerOptions<any, any>;
  readonly #registrations: Registration[] = [];
  readonly #closing = new AbortController();
  readonly #closed = new AbortController();
  #engine: Engine | undefined;
  #isStarted = false;
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
    if (this.#engine || this.#stopped) throw new ConflictError("register: the worker was started already");
    if (spec?.kind !== "job" && spec?.kind !== "ticker") {
      throw new OptionsError("register.spec", spec, "a spec made by defineJob or defineTicker");
    }
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
    return this.#prepareEngine("drain").drain();
  }

  #prepareEngine(call: string): Engine {
    if (this.#stopped) throw new ConflictError(`${call}: the worker was stopped; create another`);
    if (this.#isStarted) throw new ConflictError(`${call}: the worker was started already`);
    if (this.#registrations.length === 0) {
      throw new OptionsError(
        call,
        this.#registrations,
        "a registered handler: call worker.register(spec, handler) first",
      );
    }
    const { db, pgqueue, concurrency = 10, listen = true, reapInterval = "30s" } = this.#options;
    this.#engine ??= new Engine(
      {
        db,
        pgqueue: failingLater(pgqueue),
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
    checkOptions("stop", stopOptions, options);
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
    try {
      const told: unknown = (this.#options.onEvent ?? printEvent)(event);
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
