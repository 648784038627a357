import { createHash } from "node:crypto";
import { type SQL, sql } from "drizzle-orm";
import * as v from "valibot";
import { ConflictError, OptionsError } from "../errors.ts";
import { moment, statementTime } from "../queries/clock.ts";
import { bindingOf } from "../queries/create.ts";
import { databaseError } from "../queries/database-error.ts";
import { explained } from "../queries/explained.ts";
import { ofSpec } from "../queries/of-spec.ts";
import { primary } from "../queries/statement.ts";
import { type Duration, milliseconds } from "../tasks/duration.ts";
import { checkOptions, dateOption, durationOption } from "../tasks/options.ts";
import { type InsideOfWorker, insideOf } from "../worker/create.ts";
import type { SettledEvent } from "../worker/event.ts";
import type { Worker } from "../worker/worker.ts";
import { during, type Moment } from "./moment.ts";

export interface DrainOptions {
  /** Moves time on, up to this moment or by so long, from one task that becomes due to the next. Default: time stands still. */
  until?: Date | Duration | undefined;
}

/** A run whose outcome was written. */
export interface DrainedRun extends Omit<SettledEvent, "type" | "duration"> {
  /** When it ran, in the time of the test. */
  at: Date;
}

const drainOptions = v.strictObject({
  until: v.optional(v.union([dateOption, durationOption(0)], "a duration, or a Date of the years 1 to 9999")),
});
const mostRuns = 100_000;
const timeOf = new WeakMap<Worker<any, any>, Date>();
const draining = new WeakSet<Worker<any, any>>();

/**
 * Runs what is due, over and over until nothing is; with `until`, moves time on to the next retry, tick, delayed task or
 * expired lease, and so on until that moment. It does not sleep: statements are given the moment, and those that handlers
 * make take it too. Time begins with the clock of Postgres, and goes on from one drain of a worker to its next.
 *
 * @returns the runs, in the order in which they ended.
 * @throws ConflictError when the worker was started or stopped, is being drained already, or after 100,000 runs.
 * @throws OptionsError when `until` is neither a Date from the present of the worker on nor a Duration; when the worker has no
 * handlers, or is not of createWorker.
 * @throws SchemaError, AccessError as the statements of a worker that starts.
 * @throws what the driver says of a database that is away, and of a statement that fails in a transaction that the worker is on.
 * @example
 * const runs = await drain(worker, { until: "30d" });
 * expect(runs.map(({ result }) => result)).toEqual(["retry", "retry", "done"]);
 */
export async function drain(worker: Worker<any, any>, options: DrainOptions = {}): Promise<DrainedRun[]> {
  checkOptions("drain", drainOptions, options);
  const inside = insideOf("drain", worker);
  if (draining.has(worker)) throw new ConflictError("drain: the worker is being drained already");
  draining.add(worker);
  try {
    const time: Moment = { now: await startOf(worker, inside) };
    const end = endOf(time.now, options.until);
    const runs = await during(time, () => runAll(inside, time, end));
    timeOf.set(worker, end);
    return runs;
  } finally {
    draining.delete(worker);
  }
}

async function runAll(inside: InsideOfWorker, time: Moment, end: Date): Promise<DrainedRun[]> {
  const { db, pgqueue, specs } = inside;
  const runs: DrainedRun[] = [];
  let fail: (error: unknown) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failure.catch(() => {});
  const unwatch = inside.watch((event) => {
    if (event.type === "settled") {
      const { type, duration, ...run } = event;
      runs.push({ ...run, at: time.now });
    }
    if (event.type === "error" && isFinal(event.error)) fail(event.error);
  });
  try {
    await inside.prepare();
    const nextEvent = nextEventOf(inside, end);
    // What is due and yet not to be had, such as a row that the test has locked, is left behind when time moves on.
    const stuckAt: (Date | null)[] = specs.map(() => null);
    for (let begun = 0; begun < mostRuns; ) {
      const event = await nextEvent(stuckAt);
      if (!event) return runs;
      if (event.at > time.now) time.now = event.at;
      const spec = specs[event.spec]!;
      let taken = 0;
      if (event.isLease) {
        taken = (await pgqueue.reap(db, spec)).length;
      } else {
        // Where there are many, their order needs no look at each.
        for (let more = 2; more > 1 && begun + taken < mostRuns; taken += more) {
          more = await Promise.race([inside.runOnce(spec), failure]);
        }
      }
      begun += taken;
      if (taken === 0) stuckAt[event.spec] = time.now;
    }
    throw new ConflictError(`drain: ${mostRuns} runs did not come to an end`);
  } finally {
    unwatch();
  }
}

/** What a worker would try again for as long as a lease lasts, although it cannot succeed: the test's transaction is over. */
function isFinal(error: unknown): boolean {
  return databaseError(error).code === "25P02" || /test database was closed/.test(messagesOf(error));
}

function messagesOf(error: unknown): string {
  return error instanceof Error ? `${error.message} ${messagesOf(error.cause)}` : "";
}

/** The end of the last drain, or what the clock of Postgres says. In whole milliseconds, as a Date has them. */
async function startOf(worker: Worker<any, any>, { db }: InsideOfWorker): Promise<Date> {
  const [row] = await primary("drain", db)
    .select({ now: wholeMilliseconds(statementTime()) })
    .from(sql`(select 1) as one`);
  const now = new Date(row!.now);
  const last = timeOf.get(worker);
  return last && last > now ? last : now;
}

function endOf(start: Date, until: Date | Duration | undefined): Date {
  if (until === undefined) return start;
  if (until instanceof Date && until >= start) return until;
  if (until instanceof Date) throw new OptionsError("drain.until", until, `a moment from ${start.toISOString()} on`);
  const end = new Date(start.getTime() + milliseconds("drain.until", until));
  if (end.getUTCFullYear() > 9999) throw new OptionsError("drain.until", until, "a moment before the year 10000");
  return end;
}

interface DueEvent {
  readonly at: Date;
  /** Whether a lease runs out, where else a task becomes due. */
  readonly isLease: boolean;
  /** Its place in the worker's specs. */
  readonly spec: number;
}

/** Asks which of the worker's tasks is due next, or loses its lease, up to `until`; built once, since it is asked for each run. */
function nextEventOf({ db, pgqueue, specs }: InsideOfWorker, until: Date) {
  const binding = bindingOf("drain", pgqueue);
  const { tasks, queues } = binding;
  const specOf = sql`case ${sql.join(
    specs.map((spec, i) => sql`when ${ofSpec(binding, spec)} then ${sql.raw(String(i))}`),
    sql` `,
  )} end`;
  const isPaused = sql`exists (select 1 from ${queues} where ${queues.queue} = ${tasks.queue} and ${queues.pausedAt} is not null)`;
  const isLease = sql`${tasks.status} = 'running'`;
  const at = sql`case when ${isLease} then ${tasks.leaseUntil} + interval '1 millisecond' else ${tasks.runAt} end`;
  const builder = primary("drain", db)
    .select({ at: wholeMilliseconds(at), isLease: sql<boolean>`${isLease}`, spec: sql<number>`${specOf}` })
    .from(tasks)
    .where(
      sql`(${isLease} or (${tasks.status} = 'pending' and not ${isPaused})) and ${specOf} is not null
        and ${at} <= ${moment(until)}
        and ${at} > coalesce((${sql.placeholder("stuckAt")}::text::jsonb ->> ${specOf})::timestamptz, '-infinity')`,
    )
    .orderBy(at, tasks.id)
    .limit(1);
  const query = builder.prepare(`pgqueue_drain_${hashOf(builder.toSQL().sql)}`);
  return async (stuckAt: readonly (Date | null)[]): Promise<DueEvent | undefined> => {
    const [event] = await query.execute({ stuckAt: JSON.stringify(stuckAt) }).catch((error: unknown) => {
      throw explained(binding, error);
    });
    return event && { ...event, at: new Date(event.at) };
  };
}

/** One text has one name: a connection keeps whatever is prepared on it, and a process drains many workers on it. */
function hashOf(text: string): string {
  return createHash("sha1").update(text).digest("hex").slice(0, 16);
}

/** Rounded up, so that what is due then is due. */
function wholeMilliseconds(value: SQL) {
  return sql<number>`ceil(extract(epoch from ${value}) * 1000)`.mapWith(Number);
}
