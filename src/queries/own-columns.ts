import type { SQL } from "drizzle-orm";
import type { TaskColumns, TaskKind, TaskStatus } from "../schema/columns.ts";
import type { BaseEnqueueOptions } from "./enqueue-options.ts";

/** Any task table made by `pgqueueTables`, whatever columns you added. */
export interface AnyTasks {
  readonly $inferSelect: {
    id: number;
    queue: string;
    kind: TaskKind;
    status: TaskStatus;
    payload: unknown;
    claimToken: string | null;
  };
  readonly $inferInsert: { queue: string };
  readonly _: { readonly columns: { [K in keyof TaskColumns]: unknown } };
}

/** Any queue table made by `pgqueueTables`. */
export interface AnyQueues {
  readonly $inferSelect: { queue: string; pausedAt: Date | null };
}

type Flat<T> = { [K in keyof T]: T[K] } & {};
/** Your own columns as selected. */
export type ExtraSelect<T extends AnyTasks> = Flat<Omit<T["$inferSelect"], keyof TaskColumns>>;
/** Your own columns as inserted. */
export type ExtraInsert<T extends AnyTasks> = Flat<Omit<T["$inferInsert"], keyof TaskColumns>>;

type ColumnsOption<Insert> = [keyof Insert] extends [never]
  ? { columns?: never }
  : {} extends Insert
    ? { columns?: Insert }
    : { columns: Insert };

/** Options of an enqueue; `columns` is required where a column of yours is. */
export type EnqueueOptions<Insert = {}> = Omit<BaseEnqueueOptions, "columns"> & ColumnsOption<Insert>;
export type OptionsArgument<Insert> =
  {} extends ColumnsOption<Insert> ? [options?: EnqueueOptions<Insert>] : [options: EnqueueOptions<Insert>];

/** A row of the select that `enqueueFrom` takes. */
export type SelectedTask<Payload, Insert = {}> = {
  /** The schema's input: fields under this name, or one field that is JSON. */
  payload: Payload;
  /** Not before this moment. Default, and where it is null: at once. */
  runAt?: Date | null;
  /** Not before so many milliseconds from now. Not together with `runAt`. */
  delay?: number | null;
  /** 0 runs first, 9 last. Default, and where it is null: 0. */
  priority?: number | null;
  /** Tries after the first, for this task. Default, and where it is null or negative: the spec's. */
  maxRetries?: number | null;
  /** Identity of the task; null: no deduplication. Required where the spec has a hash function. */
  hash?: string | null;
  meta?: Record<string, unknown> | null;
} & ColumnsOption<Insert>;

/** A select of Drizzle whose rows are `Row`. */
export interface SelectOf<Row> {
  readonly _: { readonly result: Row[] };
  getSQL(): SQL;
}

/** Refuses a select with fields that a task does not have. */
export type OnlyFields<Row> = [Exclude<keyof Row, keyof SelectedTask<unknown, { columns: unknown }>>] extends [never]
  ? unknown
  : { "has a field that no task has": Exclude<keyof Row, keyof SelectedTask<unknown, { columns: unknown }>> };
