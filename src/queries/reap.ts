import { type SQL, sql } from "drizzle-orm";
import * as v from "valibot";
import type { TaskStatus } from "../schema/columns.ts";
import { longestDuration } from "../tasks/duration.ts";
import { checkOptions, integerOption } from "../tasks/options.ts";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { statementTime } from "./clock.ts";
import { withFailure } from "./failures.ts";
import { noClaim } from "./no-claim.ts";
import { checkSpec, ofSpec } from "./of-spec.ts";
import { reapedFailure } from "./reaped.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

export interface ReapOptions {
  /** At most so many tasks: 1 to 10,000. Default 100. */
  limit?: number | undefined;
  /** Leaves out so many of those whose lease ended first, such as rows that a trigger of yours refuses. Default 0. */
  offset?: number | undefined;
}

const reapOptions = v.strictObject({
  limit: v.optional(integerOption(1, 10_000)),
  offset: v.optional(integerOption(0, 1_000_000)),
});

/**
 * Ends expired claims: what `transition` says of a `retry`, in SQL. A task with an earlier failure, or at its last try, whose
 * handler never began gets its attempt back, because it may have been claimed beside the one that killed the process; its
 * next run is spread over a retry delay by its id, so that the two do not meet again.
 */
export function reap(
  binding: Binding,
  db: Db,
  spec: Spec,
  options: ReapOptions = {},
): Statement<{ id: number; status: TaskStatus }> {
  checkSpec("reap", spec);
  checkOptions("reap", reapOptions, options);
  const { tasks } = binding;
  const handle = primary("reap", db);

  const expired = handle.$with("expired", { id: sql<number>`id` }).as(sql`
    select ${tasks.id} as id from ${tasks}
    where ${ofSpec(binding, spec)} and ${tasks.status} = 'running' and ${tasks.leaseUntil} < ${statementTime()}
    order by ${tasks.leaseUntil} limit ${options.limit ?? 100}::int offset ${options.offset ?? 0}::int
    for no key update skip locked`);

  const isOver = sql`${tasks.attempt} > coalesce(${tasks.maxRetries}, ${spec.maxRetries}::int)`;
  const isUnstarted = sql`${tasks.startedAt} is null and (${tasks.attempt} > 1 or ${isOver})`;
  const over = whenOver(spec);
  const spread = sql`(${tasks.id} + ${tasks.claims}) % 16 / 16.0 * ${Math.max(spec.retryDelay, 1_000)}::float8`;
  const backoff = sql`least(${tasks.attempt} * ${spec.retryDelay}::float8, ${longestDuration}::float8)`;
  const failure = sql`case when not (${isUnstarted}) then ${reapedFailure(binding, sql`clock.at`)} end`;
  const byVerdict = (unstarted: SQL, overValue: SQL, again: SQL) =>
    sql`case when ${isUnstarted} then ${unstarted} when ${isOver} then ${overValue} else ${again} end`;

  const status = byVerdict(sql`'pending'`, over.status, sql`'pending'`);

  return statement(
    handle
      .with(expired)
      .update(tasks)
      .set({
        status,
        attempt: byVerdict(sql`${tasks.attempt} - 1`, over.attempt ?? sql`${tasks.attempt}`, sql`${tasks.attempt}`),
        runAt: sql`coalesce(clock.at + ${byVerdict(spread, over.delay, backoff)} * interval '1 millisecond', ${tasks.runAt})`,
        hashHeld: sql`${tasks.hashHeld} and not (${over.releasesHash} and ${isOver} and not (${isUnstarted}))`,
        errors: withFailure(binding, failure),
        finishedAt: sql`case when ${status} = 'failed' then clock.at end`,
        ...noClaim,
      })
      .from(sql`(select ${statementTime()} as at) as clock`)
      .where(sql`${tasks.queue} = ${spec.queue} and ${tasks.id} = any(array(select id from expired))`)
      .returning({ id: tasks.id, status: tasks.status }),
  );
}

/** What the end of all tries makes of the row: a job is failed, a ticker waits for its next tick. */
function whenOver(spec: Spec): { status: SQL; attempt?: SQL; delay: SQL; releasesHash: SQL } {
  if (spec.kind === "ticker") {
    const every = sql`${spec.every}::float8`;
    return { status: sql`'pending'`, attempt: sql`0`, delay: every, releasesHash: sql`false` };
  }
  const releasesHash = spec.dedup === "active" ? sql`true` : sql`false`;
  return { status: sql`'failed'`, delay: sql`null::float8`, releasesHash };
}
