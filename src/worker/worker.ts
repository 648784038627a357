import type { Pgqueue } from "../queries/pgqueue.ts";
import type { Db } from "../queries/statement.ts";
import type { Duration } from "../tasks/duration.ts";
import type { JobSpec, TickerSpec } from "../tasks/spec.ts";
import type { WorkerEvent } from "./event.ts";
import type { Handler } from "./handler.ts";

export interface WorkerOptions<Select = {}, Insert = {}> {
  /**
   * Your database. To listen, node-postgres opens one connection beside its pool; so does postgres-js, and keeps it until
   * the client is ended.
   */
  db: Db;
  /** Your statements, from `createPgqueue`. */
  pgqueue: Pgqueue<Select, Insert>;
  /** Handlers that may run at once, over all queues: 1 to 10,000. Default 10. */
  concurrency?: number | undefined;
  /** Written to `claimed_by`. Default: host, process and a random part. */
  workerId?: string | undefined;
  /** Whether to LISTEN for announced work, where the driver can (postgres-js, a pool of node-postgres, PGlite); otherwise polling alone. Default true. */
  listen?: boolean | undefined;
  /**
   * How often expired leases are looked for; a queue with a short lease is looked at every half
   * lease, or every 250 ms. Each interval is up to a fifth shorter or longer. Default 30 s.
   */
  reapInterval?: Duration | undefined;
  /** Told of every outcome and fault. Default: faults and failed runs are printed with `console`. */
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
   * @throws ConflictError once the worker was started, drained or stopped.
   */
  register<In, Out>(spec: JobSpec<In, Out> | TickerSpec<In, Out, Insert>, handler: Handler<NoInfer<Out>, Select>): this;
  /**
   * Runs what is due, over and over until nothing is, and resolves to the number of runs: for tests, scripts and functions
   * that are called from time to time. What is due later, such as a retry, is left. Jobs that are retained no longer are
   * deleted. Not together with `start`.
   *
   * @throws as `start`, and whatever the driver throws when the database is away.
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
   * Starts, and resolves when the worker has stopped: by `stop`, or when the signal fires. With a signal that
   * has fired already it only stops.
   *
   * @throws OptionsError when an option is not what it should be; the rest as `start`
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
