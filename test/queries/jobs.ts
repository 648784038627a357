import { eq, sql } from "drizzle-orm";
import * as v from "valibot";
import {
  type Claimed,
  createPgqueue,
  type Db,
  defineJob,
  defineTicker,
  type JobOptions,
  type JobSpec,
  pgqueueTables,
  type Spec,
  type TickerOptions,
  type TickerSpec,
} from "../../src/index.ts";
import type { DrizzleDb } from "../../src/queries/statement.ts";

export const { tasks, queues } = pgqueueTables();
export const pgqueue = createPgqueue({ tasks, queues });

const anything = v.any();
let specs = 0;

/** A job spec on a queue of its own, so that the tests of a file do not see each other's tasks. */
export function job(options: Partial<JobOptions<typeof anything>> = {}): JobSpec<any, any> {
  return defineJob({ queue: `queue-${++specs}`, payload: anything, ...options });
}

export function ticker(options: Partial<TickerOptions<typeof anything>> = {}): TickerSpec<any, any> {
  return defineTicker({
    queue: `queue-${++specs}`,
    key: "main",
    payload: anything,
    initialPayload: { cursor: 0 },
    every: "1h",
    ...options,
  });
}

/** The whole row, claim included. */
export async function rowOf(db: Db, id: number): Promise<typeof tasks.$inferSelect> {
  const [row] = await (db as unknown as DrizzleDb).select().from(tasks).where(eq(tasks.id, id));
  if (!row) throw new Error(`there is no task ${id}`);
  return row;
}

/** The ids of the tasks of a queue, in their order. */
export async function idsOf(db: Db, { queue }: Spec): Promise<number[]> {
  const rows = await (db as unknown as DrizzleDb)
    .select({ id: tasks.id })
    .from(tasks)
    .where(eq(tasks.queue, queue))
    .orderBy(tasks.id);
  return rows.map(({ id }) => id);
}

/** So many new tasks of a spec, claimed, in the order of their ids. */
export async function claimNew(db: Db, spec: JobSpec<any, any>, count: number): Promise<Claimed<any>[]> {
  await pgqueue.enqueueMany(
    db,
    spec,
    Array.from({ length: count }, (_, i) => ({ payload: { i } })),
  );
  return claimAll(db, spec);
}

export async function claimAll(
  db: Db,
  spec: Spec<any, any>,
  { limit = 10_000, started = true } = {},
): Promise<Claimed<any>[]> {
  const claimed = await pgqueue.claim(db, spec, { limit, started });
  return claimed.sort((a, b) => a.id - b.id);
}

/** The one task that is due, claimed. */
export async function claimOne(db: Db, spec: Spec<any, any>): Promise<Claimed<any>> {
  const [task, ...more] = await pgqueue.claim(db, spec, { limit: 2 });
  if (!task || more.length > 0) throw new Error(`expected one due task in ${spec.queue}`);
  return task;
}

/** Ends the lease of running tasks, as the passing of time would. */
export async function expire(db: Db, ...ids: number[]): Promise<void> {
  await (db as unknown as DrizzleDb).execute(sql`
    update ${tasks} set lease_until = statement_timestamp() - interval '1 second'
    where status = 'running' and id = any(${sql.param(`{${ids.join()}}`)}::bigint[])`);
}

/** Makes everything in a queue due that is pending. */
export async function makeDue(db: Db, { queue }: Spec): Promise<void> {
  await (db as unknown as DrizzleDb).execute(sql`
    update ${tasks} set run_at = statement_timestamp() where status = 'pending' and queue = ${queue}`);
}
