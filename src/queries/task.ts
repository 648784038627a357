import { type SQL, sql } from "drizzle-orm";
import type { TaskError, TaskKind, TaskStatus } from "../schema/columns.ts";
import type { Binding } from "./binding.ts";

/** A task as its row stands, without the secrets of its claim. */
export interface Task<Columns = {}> {
  readonly id: number;
  readonly queue: string;
  readonly kind: TaskKind;
  /** A ticker's key; null for a job. */
  readonly key: string | null;
  readonly hash: string | null;
  readonly status: TaskStatus;
  /** 0 runs first, 9 last. */
  readonly priority: number;
  readonly payload: unknown;
  /** What the last successful run returned. */
  readonly output: unknown;
  /** The latest ten failures, newest first. */
  readonly errors: TaskError[] | null;
  /** Tries charged since the last success, enable or new period. */
  readonly attempt: number;
  /** This task's override of its spec. */
  readonly maxRetries: number | null;
  readonly runAt: Date;
  readonly claimedBy: string | null;
  readonly claimedAt: Date | null;
  readonly leaseUntil: Date | null;
  readonly meta: Record<string, unknown> | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly columns: Columns;
}

/** The user's own columns as one field. Drizzle leaves out a field of no columns, where an empty object is promised. */
export function ownColumns(extra: Binding["extra"]): Binding["extra"] | SQL.Aliased {
  return Object.keys(extra).length > 0 ? extra : sql`'{}'::jsonb`.as("columns");
}

/** The fields of a `Task`, for a select or a returning. */
export function taskFields({
  tasks,
  extra,
}: Binding): Pick<Binding["tasks"], Exclude<keyof Task, "columns">> & { columns: ReturnType<typeof ownColumns> } {
  return {
    id: tasks.id,
    queue: tasks.queue,
    kind: tasks.kind,
    key: tasks.key,
    hash: tasks.hash,
    status: tasks.status,
    priority: tasks.priority,
    payload: tasks.payload,
    output: tasks.output,
    errors: tasks.errors,
    attempt: tasks.attempt,
    maxRetries: tasks.maxRetries,
    runAt: tasks.runAt,
    claimedBy: tasks.claimedBy,
    claimedAt: tasks.claimedAt,
    leaseUntil: tasks.leaseUntil,
    meta: tasks.meta,
    createdAt: tasks.createdAt,
    finishedAt: tasks.finishedAt,
    columns: ownColumns(extra),
  };
}
