/**
 * What a side is tuned for. `default` is what one gets by following the first example of its README; `statements` are sent
 * without a worker.
 */
export type Tuning = "best" | "default" | "latency" | "slow handlers" | "statements";

export type SideName = "pgqueue" | "floor" | "graphile-worker" | "pg-boss";

/** What every task carries, on all sides. */
export interface Payload {
  /** Which task this is, from 0. */
  n: number;
  to: string;
}

export function payloadOf(n: number): Payload {
  return { n, to: `user${n}@example.com` };
}

/** So many, the first of which is that of `from`. */
export function payloadsOf(from: number, count: number): Payload[] {
  return Array.from({ length: count }, (_, i) => payloadOf(from + i));
}

/** Called once for each task with its `n`. One that returns nothing is done. */
export type Handle = (n: number) => Promise<void> | undefined;

export interface Producer {
  enqueue(payload: Payload): Promise<void>;
  enqueueMany(payloads: readonly Payload[]): Promise<void>;
  close(): Promise<void>;
}

export interface Consumer {
  /** Begins to take tasks. */
  start(): Promise<void>;
  /** Ends after what it has begun, and closes its connections. */
  stop(): Promise<void>;
}

export interface ConsumerOptions {
  readonly tuning: Tuning;
  readonly handle: Handle;
  /** Whether rows of completed tasks are to be deleted. */
  readonly deletes: boolean;
}

/** One of the queues that are compared. */
export interface Side {
  readonly name: SideName;
  /** What is set for a tuning, as it is passed to the package: for the record. */
  settings(tuning: Tuning): Record<string, unknown>;
  /** Creates its tables and its queue in an empty database. */
  install(url: string, tuning: Tuning): Promise<void>;
  openProducer(url: string): Promise<Producer>;
  /** Connects, but takes no task before `start`. */
  openConsumer(url: string, options: ConsumerOptions): Promise<Consumer>;
  /** A select of one boolean: whether a task is not completed. */
  readonly hasUnfinished: string;
  /** A select of how many tasks there are, whatever their state. */
  readonly countTasks: string;
  /** A select of how many rows of completed tasks there are. */
  readonly countCompleted: string;
  /** Whether it deletes completed tasks by itself. */
  readonly deletesAlways: boolean;
}
