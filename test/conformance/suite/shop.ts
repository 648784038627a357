import assert from "node:assert/strict";
import { eq, sql } from "drizzle-orm";
import {
  type Claimed,
  createPgqueue,
  defineJob,
  defineTicker,
  type JobOptions,
  type JobSpec,
  pgqueueTables,
  type Spec,
  type TickerOptions,
  type TickerSpec,
} from "pgqueue";
import * as v from "valibot";
import type { Database } from "./driver.ts";

/** The tables that `migrate` makes. */
const { tasks, queues } = pgqueueTables();

export { tasks };
export const pgqueue = createPgqueue({ tasks, queues });

const anything = v.any();
let specs = 0;

/** A job spec on a queue of its own, so that the cases of a cell do not see each other's tasks. */
export function job(options: Partial<JobOptions<typeof anything>> = {}): JobSpec<any, any> {
  return defineJob({ queue: nextQueue(), payload: anything, ...options });
}

export function ticker<Columns extends object = {}>(
  options: Partial<TickerOptions<typeof anything, Columns>> = {},
): TickerSpec<any, any, Columns> {
  return defineTicker({
    queue: nextQueue(),
    key: "main",
    payload: anything,
    initialPayload: { cursor: 0 },
    every: "1h",
    ...options,
  });
}

function nextQueue(): string {
  return `queue ${++specs}`;
}

export async function rowOf(db: Database, id: number): Promise<typeof tasks.$inferSelect> {
  const [row] = await db.select().from(tasks).where(eq(tasks.id, id));
  assert(row, `there is no task ${id}`);
  return row;
}

/** The one task that is due, claimed. */
export async function claimOne(db: Database, spec: Spec<any, any>): Promise<Claimed<any>> {
  const claimed = await pgqueue.claim(db, spec, { limit: 2 });
  assert.equal(claimed.length, 1, `tasks due in ${spec.queue}`);
  return claimed[0]!;
}

/** So many new tasks with the payloads 0, 1, …, claimed, in their order. */
export async function claimNew(db: Database, spec: JobSpec<any, any>, count: number): Promise<Claimed<any>[]> {
  await pgqueue.enqueueMany(
    db,
    spec,
    Array.from({ length: count }, (_, payload) => ({ payload })),
  );
  const claimed = await pgqueue.claim(db, spec, { limit: count });
  assert.equal(claimed.length, count);
  return claimed.sort((a, b) => a.id - b.id);
}

/** Ends the lease of a running task, as the passing of time would. */
export async function expire(db: Database, id: number): Promise<void> {
  await db.update(tasks).set({ leaseUntil: sql`statement_timestamp() - interval '1 second'` }).where(eq(tasks.id, id));
}

/** Makes what is pending in a queue due. */
export async function makeDue(db: Database, { queue }: Spec): Promise<void> {
  await db
    .update(tasks)
    .set({ runAt: sql`statement_timestamp()` })
    .where(sql`${tasks.queue} = ${queue} and ${tasks.status} = 'pending'`);
}

/** Lets the clock of the database move on: PGlite's goes in milliseconds, and nothing is older than itself. */
export async function tick(db: Database): Promise<void> {
  await db.execute(sql`select pg_sleep(0.002)`);
}
