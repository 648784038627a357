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
