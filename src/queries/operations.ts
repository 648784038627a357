import type { Spec } from "../tasks/spec.ts";
import type { TaskFilter } from "./list-tasks.ts";
import type { QueueState } from "./pause-queue.ts";
import type { PurgeOptions } from "./purge.ts";
import type { Queue } from "./queue-name.ts";
import type { Db, Statement } from "./statement.ts";
import type { QueueStats } from "./stats.ts";
import type { Task } from "./task.ts";

/** Statements for whoever looks after the queues: to look, to repair, to delete. */
export interface Operations<Select = {}> {
  /**
   * Makes a failed or disabled task pending at once, with all its tries. Returns its row, or none where it is neither, or
   * where another task has taken its hash. Where another takes it in the same instant, Postgres' unique violation (23505).
   *
   * @example const [task] = await enable(db, id);
   */
  enable(db: Db, id: number): Statement<Task<Select>>;

  /**
   * Takes a pending or running task out of work. A running one loses its claim: its handler's signal fires soon after, and
   * its outcome will change nothing. Returns its row, or none where it is neither.
   *
   * @example await disable(db, id);
   */
  disable(db: Db, id: number): Statement<Task<Select>>;

  /**
   * Makes any task that is not running pending at `runAt` (default: at once), with all its tries. Returns its row, or none
   * where it runs, or where another task has taken its hash.
   *
   * @example await requeue(db, id, new Date("2027-01-01T06:00:00Z"));
   */
  requeue(db: Db, id: number, runAt?: Date): Statement<Task<Select>>;

  /**
   * Replaces the payload of a task that is not running. Its hash, status and tries stay: `enable` a failed one afterwards.
   * Resolves to the row as it is now, or to undefined where the queue has no such task.
   *
   * @throws ConflictError while the task is running.
   * @example
   * await replacePayload(db, sendReceipt, id, { orderId: 7 });
   * await enable(db, id);
   */
  replacePayload<In, Out>(
    db: Db,
    spec: Spec<In, Out>,
    id: number,
    payload: NoInfer<In>,
  ): Promise<Task<Select> | undefined>;

  /**
   * Lets no further task of the queue be claimed; running ones go on.
   *
   * @example await pauseQueue(db, sendReceipt);
   */
  pauseQueue(db: Db, queue: Queue): Statement<QueueState>;

  /**
   * Ends a pause. Returns the queue's row, or none where it was never paused.
   *
   * @example await resumeQueue(db, "send-receipt");
   */
  resumeQueue(db: Db, queue: Queue): Statement<QueueState>;

  /**
   * Deletes up to `limit` jobs that ended longer ago than `olderThan`, oldest first, skipping locked rows. Never a ticker.
   *
   * @example await purge(db, { queue: sendReceipt, status: "completed", olderThan: "1d", limit: 1000 });
   */
  purge(db: Db, options: PurgeOptions): Statement<{ id: number }>;

  /**
   * Counts of each queue that has a task. It reads the whole table.
   *
   * @example const queues = await stats(db);
   */
  stats(db: Db): Statement<QueueStats>;

  /**
   * One task, as a list of one or none.
   *
   * @example const [task] = await getTask(db, id);
   */
  getTask(db: Db, id: number): Statement<Task<Select>>;

  /**
   * Tasks, the highest id first.
   *
   * @example const failed = await listTasks(db, { queue: sendReceipt, status: "failed", limit: 20 });
   */
  listTasks(db: Db, filter?: TaskFilter): Statement<Task<Select>>;
}
