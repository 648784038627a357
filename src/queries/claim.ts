import { type SQL, sql } from "drizzle-orm";
import * as v from "valibot";
import { checkOptions, integerOption, nameOption } from "../tasks/options.ts";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { builtOnce } from "./built-once.ts";
import { type Claimed, type ClaimToken, checkToken, newClaimToken } from "./claimed.ts";
import { after, statementTime } from "./clock.ts";
import { conditionOption } from "./condition.ts";
import { levelsAfter, type Mark, marksOption, placesOf } from "./mark.ts";
import { checkSpec, ofSpec } from "./of-spec.ts";
import { lastTryWasReaped } from "./reaped.ts";
import { type Db, type DrizzleDb, primary, type Statement, statement } from "./statement.ts";
import { ownColumns } from "./task.ts";

export interface ClaimOptions {
  /** At most so many tasks: 1 to 10,000. */
  limit: number;
  /** Written to `claimed_by`. */
  workerId?: string | undefined;
  /** A further condition, over your own columns for example. */
  where?: SQL | undefined;
  /** A token of your own making, to be able to `releaseClaim` when the reply is lost. Default: a new one each time. */
  token?: ClaimToken | undefined;
  /**
   * Whether the handlers begin at once. With false, call `markStarted` just before a task whose `attempt` is over 1, or whose
   * last try it is; if the process dies before, `reap` gives the attempt back. Default true.
   */
  started?: boolean | undefined;
  /** With false, tasks whose last try was ended by `reap` are left out. Default true. */
  crashed?: boolean | undefined;
  /**
   * Only what comes after these tasks in claim order: at most one of each level of priority, the last that an earlier claim
   * returned. It spares the claim from passing what was claimed before, which Postgres cannot clear away while a long
   * transaction is open. What came in behind them is not seen, so leave it out at times. Default: all that is due.
   */
  after?: readonly Mark[] | undefined;
  /**
   * A number, 0 to 100, lets postgres-js prepare the statement, which spares a round trip and the planning: most of what a
   * small claim takes. Each connection keeps a plan for each number and spec, until the next ANALYZE: one from when the table
   * was small reads it from end to end when it has grown. So take the next number when it may have, and none for claims from a
   * backlog; a worker takes 0 to 16. Other drivers do as they always do. Default: it is planned each time.
   */
  plan?: number | undefined;
}

const claimOptions = v.strictObject({
  limit: integerOption(1, 10_000),
  workerId: v.optional(nameOption),
  where: v.optional(conditionOption),
  token: v.optional(v.string()),
  started: v.optional(v.boolean()),
  crashed: v.optional(v.boolean()),
  after: v.optional(marksOption),
  plan: v.optional(integerOption(0, 100)),
});

export function claim(binding: Binding, db: Db, spec: Spec, options: ClaimOptions): Statement<Claimed> {
  checkSpec("claim", spec);
  checkOptions("claim", claimOptions, options);
  if (options.token !== undefined) checkToken("claim.token", options.token);
  const { limit, workerId = null, token = newClaimToken, started = true, crashed = true, after: marks = [] } = options;
  const { where, plan } = options;
  const handle = primary("claim", db);
  const shape = where ? null : `claim ${started} ${crashed} ${plan}`;
  const values = { limit, workerId, token, ...placesOf(marks) };
  return statement(
    builtOnce({ binding, handle, spec, shape, keepsPlan: plan !== undefined }, values, (parameters) =>
      claiming(binding, handle, spec, parameters, { where, started, crashed, plan }),
    ),
  );
}

/**
 * In steps, so that each can grow by itself: the gate says how much room there is, picked locks the tasks, the update
 * claims them. The lateral join over levels reads in claim order without a sort, stops when it has enough, and locks only
 * what it returns; a plain `order by priority, run_at` walks every task of the future before Postgres 18. Its limit is an
 * expression too: of a limit that it knows Postgres may think that so few tasks are due anyhow, and sort them all. By
 * `id = any(array(…))` the update takes the primary key; joined, it took a sequential scan at 10,000 rows.
 */
function claiming(
  binding: Binding,
  handle: DrizzleDb,
  spec: Spec,
  { limit, workerId, token, runAts, ids }: Record<"limit" | "workerId" | "token" | "runAts" | "ids", SQL>,
  { where, started, crashed, plan }: Pick<ClaimOptions, "where" | "started" | "crashed" | "plan">,
) {
  const { tasks, queues, extra } = binding;
  // postgres-js tells prepared statements apart by their text; that of all specs is the same but for this.
  const numbered = sql.raw(plan === undefined ? "" : `/* plan ${plan} of ${named(spec)} */ `);
  const gate = handle.$with("gate", { room: sql<number>`room` }).as(sql`
    ${numbered}select case when exists (
      select 1 from ${queues} where ${queues.queue} = ${spec.queue} and ${queues.pausedAt} is not null
    ) then 0 else ${limit}::int end as room`);
  const picked = handle.$with("picked", { id: sql<number>`id` }).as(sql`
    select due.id from ${levelsAfter(runAts, ids)}
    cross join lateral (
      select ${tasks.id} from ${tasks}
      where ${ofSpec(binding, spec)} and ${tasks.status} = 'pending' and ${tasks.priority} = levels.level
        and (${tasks.runAt}, ${tasks.id}) > (levels.after_run_at, levels.after_id)
        and ${tasks.runAt} <= ${statementTime()} ${where ? sql`and (${where})` : sql``}
        ${crashed ? sql`` : sql`and not ${lastTryWasReaped(binding, 1)}`}
      order by ${tasks.runAt}, ${tasks.id} limit (select room from gate)
      for no key update skip locked
    ) as due
    limit (select room from gate)`);

  return handle
    .with(gate, picked)
    .update(tasks)
    .set({
      status: sql`'running'`,
      attempt: sql`${tasks.attempt} + 1`,
      claims: sql`${tasks.claims} + 1`,
      claimToken: sql`${token}::uuid`,
      claimedBy: sql`${workerId}::text`,
      claimedAt: statementTime(),
      leaseUntil: after(spec.leaseDuration),
      startedAt: started ? statementTime() : sql`null`,
    })
    .where(sql`${tasks.queue} = ${spec.queue} and ${tasks.id} = any(array(select id from picked))`)
    .returning({
      id: tasks.id,
      queue: tasks.queue,
      key: tasks.key,
      attempt: tasks.attempt,
      maxRetries: tasks.maxRetries,
      priority: tasks.priority,
      runAt: tasks.runAt,
      exactRunAt: sql<string>`${tasks.runAt}::text`.as("exact_run_at"),
      createdAt: tasks.createdAt,
      meta: tasks.meta,
      payload: tasks.payload,
      token: tasks.claimToken,
      claims: tasks.claims,
      crashed: lastTryWasReaped(binding, 2).as("crashed"),
      columns: ownColumns(extra),
    });
}

/** Without the slash that begins or ends a comment. */
function named(spec: Spec): string {
  const names = spec.kind === "job" ? [spec.queue] : [spec.queue, spec.key];
  return encodeURIComponent(JSON.stringify(names));
}
