import type { TaskStatus } from "../schema/columns.ts";
import type { Duration } from "../tasks/duration.ts";
import type { JobSpec, Spec, TickerSpec } from "../tasks/spec.ts";
import type { ClaimOptions } from "./claim.ts";
import type { Claim, Claimed, ClaimToken } from "./claimed.ts";
import type { Outcome } from "./ends.ts";
import type { Enqueued } from "./enqueued.ts";
import type { HeldTask } from "./held-by.ts";
import type { Operations } from "./operations.ts";
import type { EnqueueOptions, OnlyFields, OptionsArgument, SelectedTask, SelectOf } from "./own-columns.ts";
import type { ReapOptions } from "./reap.ts";
import type { Db, Statement } from "./statement.ts";

/**
 * Every statement, bound to one pair of tables. `db` is a database or a transaction of any Drizzle Postgres driver; the
 * statement is exactly as atomic as that. What returns a `Statement` is a Drizzle query builder: await it, read its
 * `.toSQL()`, or use it as a CTE of your own query. `Select` and `Insert` are your own columns.
 *
 * All of them throw OptionsError or PayloadError for bad input, before any SQL, and SchemaError when a table or column
 * is missing. Errors of Postgres and its driver come through as they are.
 */
export interface Pgqueue<Select = {}, Insert = {}> extends Operations<Select> {
  /**
   * Inserts one task. Where the hash is held already, nothing is inserted and the answer is the holder's.
   *
   * @throws ConflictError when the hash is held by a row that this role cannot see.
   * @example
   * await db.transaction(async (tx) => {
   *   const [order] = await tx.insert(orders).values(cart).returning();
   *   await enqueue(tx, sendReceipt, { orderId: order.id });
   * });
   */
  enqueue<In, Out>(
    db: Db,
    spec: JobSpec<In, Out>,
    payload: NoInfer<In>,
    ...options: OptionsArgument<Insert>
  ): Promise<Enqueued>;

  /**
   * Inserts many tasks, all or none, and answers for each item in order. Items of one hash share one row. It is one
   * statement where no item has a hash, all set the same columns, and there are at most 5,000 of at most 8 million
   * characters; several in a transaction otherwise.
   *
   * @throws ConflictError when a hash is held by a row that this role cannot see.
   * @example
   * await enqueueMany(tx, sendReceipt, orders.map((order) => ({ payload: { orderId: order.id }, priority: 5 })));
   */
  enqueueMany<In, Out>(
    db: Db,
    spec: JobSpec<In, Out>,
    items: ReadonlyArray<{ payload: NoInfer<In> } & EnqueueOptions<Insert>>,
  ): Promise<Enqueued[]>;

  /**
   * Inserts a task for each row of a select of yours, in one statement, and returns those that were inserted: a row whose
   * hash is held already is left out. Its fields are those of an item of `enqueueMany`. Nothing is validated before the
   * tasks run: the compiler checks the types of the fields, and the schema the payload at each run.
   *
   * The select may begin with CTEs that change data, as in `db.with(deleted).select(…).from(deleted)`.
   *
   * @throws OptionsError when a field is missing or unknown.
   * @example
   * await enqueueFrom(tx, sendReceipt, tx
   *   .select({ payload: { orderId: orders.id, to: orders.email }, hash: sql<string>`'receipt:' || ${orders.id}` })
   *   .from(orders)
   *   .where(eq(orders.status, "paid")));
   */
  enqueueFrom<In, Out, Row extends SelectedTask<NoInfer<In>, Insert>>(
    db: Db,
    spec: JobSpec<In, Out>,
    select: SelectOf<Row> & OnlyFields<Row>,
  ): Statement<{ id: number }>;

  /**
   * Creates the ticker's row if there is none; an existing row is left as it is. A worker does it when it starts.
   *
   * @throws ConflictError when the row exists out of sight of this role.
   * @example await upsertTicker(db, sync);
   */
  upsertTicker<In, Out>(db: Db, spec: TickerSpec<In, Out, Insert>): Promise<Enqueued>;

  /**
   * Takes due tasks that nobody holds, in order of priority, run time and id, and gives each a lease of the spec's
   * `leaseDuration`. A job spec takes jobs of its queue, a ticker spec the ticker of its key. Rows come in no order. A
   * batch may be short although more is due, when rows changed meanwhile: only an empty one says that there is nothing.
   *
   * @example
   * const tasks = await claim(db, sendReceipt, { limit: 10, workerId: "batch-1" });
   */
  claim<In, Out>(db: Db, spec: Spec<In, Out>, options: ClaimOptions): Statement<Claimed<In, Select>>;

  /**
   * Ends claimed tasks, each as its result says. Applied, and returned, are those whose claim still stands and whose row
   * no other transaction has locked; ask `heldBy` about the rest. Each task once, all of the spec's queue.
   *
   * @example
   * const applied = await finalize(db, sendReceipt, tasks.map((task) => ({ task, result: done() })));
   */
  finalize<In, Out>(
    db: Db,
    spec: Spec<In, Out>,
    outcomes: Outcome<NoInfer<In>> | ReadonlyArray<Outcome<NoInfer<In>>>,
  ): Statement<{ id: number }>;

  /**
   * Ends one task inside your business transaction, so that its effect and its completion commit together or not at all.
   * Waits for the row. In a repeatable-read transaction call it first.
   *
   * @throws StaleClaimError when the claim is over: let it roll your transaction back.
   * @example
   * await db.transaction(async (tx) => {
   *   await tx.insert(receipts).values(receipt);
   *   await finalizeOrThrow(tx, sendReceipt, { task, result: done() });
   * });
   */
  finalizeOrThrow<In, Out>(db: Db, spec: Spec<In, Out>, outcome: Outcome<NoInfer<In>>): Promise<void>;

  /**
   * Gives claimed tasks back: pending at the same run time, the attempt uncharged. Returns those that were still held and
   * not locked by another transaction.
   *
   * @example await release(db, sendReceipt, tasks);
   */
  release(db: Db, spec: Spec, tasks: Claim | readonly Claim[]): Statement<{ id: number }>;

  /**
   * Gives back whatever a claim took whose reply was lost, by the token it was sent with.
   *
   * @example
   * const token = newClaimToken();
   * try { tasks = await claim(db, spec, { limit: 10, token }); }
   * catch { await releaseClaim(db, spec, token); }
   */
  releaseClaim(db: Db, spec: Spec, token: ClaimToken): Statement<{ id: number }>;

  /**
   * Moves the end of the lease to `duration` from now (default: the spec's `leaseDuration`); never to an earlier moment.
   * Returns those that were still held and not locked by another transaction.
   *
   * @example const [extended] = await extendLease(db, sendReceipt, task, "10m");
   */
  extendLease(
    db: Db,
    spec: Spec,
    tasks: Claim | readonly Claim[],
    duration?: Duration,
  ): Statement<{ id: number; leaseUntil: Date }>;

  /**
   * Writes down that a task's handler is about to begin, so that `reap` charges the attempt. For tasks claimed with
   * `started: false` that have an earlier failure (`attempt` over 1), or whose last try it is: they get their attempt back
   * when the process dies before.
   *
   * @example
   * const tasks = await claim(db, sendReceipt, { limit: 10, started: false });
   * for (const task of tasks) await markStarted(db, sendReceipt, task);
   */
  markStarted(db: Db, spec: Spec, tasks: Claim | readonly Claim[]): Statement<{ id: number }>;

  /**
   * What became of tasks that a bulk statement did not apply, in the order given: `busy` (still held, its row locked a
   * moment ago: try again), `lost` (held no more) or `gone` (no such row).
   *
   * @example const [{ holding }] = await heldBy(db, sendReceipt, [task]);
   */
  heldBy(db: Db, spec: Spec, tasks: readonly Claim[]): Promise<HeldTask[]>;

  /**
   * Ends claims whose lease has run out, as a `retry` whose error says so; a worker does it all the time.
   *
   * @example const reaped = await reap(db, sendReceipt);
   */
  reap(db: Db, spec: Spec, options?: ReapOptions): Statement<{ id: number; status: TaskStatus }>;
}
