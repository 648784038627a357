export {
  AccessError,
  ConflictError,
  LeaseExpiredError,
  OptionsError,
  PayloadError,
  PgqueueError,
  SchemaError,
  StaleClaimError,
  TimeoutError,
} from "./errors.ts";
export { migrate } from "./migrate.ts";
export type { ClaimOptions } from "./queries/claim.ts";
export { type Claim, type Claimed, type ClaimToken, newClaimToken } from "./queries/claimed.ts";
export { createPgqueue, type PgqueueOptions } from "./queries/create.ts";
export type { Outcome } from "./queries/ends.ts";
export type { Enqueued } from "./queries/enqueued.ts";
export type { HeldTask, Holding } from "./queries/held-by.ts";
export type { TaskFilter } from "./queries/list-tasks.ts";
export type { Mark } from "./queries/mark.ts";
export type {
  AnyQueues,
  AnyTasks,
  EnqueueOptions,
  ExtraInsert,
  ExtraSelect,
  SelectedTask,
} from "./queries/own-columns.ts";
export type { QueueState } from "./queries/pause-queue.ts";
export type { Pgqueue } from "./queries/pgqueue.ts";
export type { PurgeOptions } from "./queries/purge.ts";
export type { Queue } from "./queries/queue-name.ts";
export type { ReapOptions } from "./queries/reap.ts";
export type { Db, DrizzleDb as AnyDatabase, Statement } from "./queries/statement.ts";
export type { QueueStats } from "./queries/stats.ts";
export type { Task } from "./queries/task.ts";
export type { TaskError, TaskKind, TaskStatus } from "./schema/columns.ts";
export {
  type PgqueueTables,
  type PgqueueTablesOptions,
  pgqueueTables,
  type QueuesTable,
  type TasksTable,
} from "./schema/tables.ts";
export { defineJob, defineTicker, type JobOptions, type TickerOptions } from "./tasks/define.ts";
export type { Duration, TotalDuration } from "./tasks/duration.ts";
export { parsePayload } from "./tasks/payload.ts";
export { done, fail, type Result, retry, skip } from "./tasks/result.ts";
export type { RetainOptions } from "./tasks/retention.ts";
export type { Dedup, JobSpec, PayloadOf, Spec, TickerSpec } from "./tasks/spec.ts";
export { createWorker } from "./worker/create.ts";
export type { Activity, SettledEvent, WorkerEvent } from "./worker/event.ts";
export type { Context, Handler, Job } from "./worker/handler.ts";
export type { RunOptions, StopOptions, Worker, WorkerOf, WorkerOptions } from "./worker/worker.ts";
