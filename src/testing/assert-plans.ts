import { AssertionError } from "node:assert";
import { type SQL, sql } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import * as v from "valibot";
import type { Binding } from "../queries/binding.ts";
import { type Claimed, newClaimToken } from "../queries/claimed.ts";
import { bindingOf } from "../queries/create.ts";
import { holderOf } from "../queries/holder.ts";
import type { Pgqueue } from "../queries/pgqueue.ts";
import { type Queue, queueName } from "../queries/queue-name.ts";
import { type Db, primary } from "../queries/statement.ts";
import { qualifiedName, quotedName, tableName } from "../queries/table-name.ts";
import { defineJob, defineTicker } from "../tasks/define.ts";
import { checkOptions } from "../tasks/options.ts";
import { done, retry } from "../tasks/result.ts";
import { pgqueueOf } from "./pgqueue-of.ts";

export interface AssertPlansOptions {
  /** Whose tables. Default: those that this database has; needed where it has several. */
  pgqueue?: Pgqueue<any, any> | undefined;
  /** A queue that has tasks, or a spec of them, if statistics should count. Default: one that has none. */
  queue?: Queue | undefined;
}

const assertPlansOptions = v.strictObject({ pgqueue: v.optional(v.unknown()), queue: v.optional(v.unknown()) });

/** Below so many rows a sequential scan may be the best plan, and the question is whether the index could be used. */
const fewRows = 10_000;

/**
 * Asserts that Postgres finds the rows of each hot statement by the index that is made for it, on your tables as they are:
 * with your columns, policies and rights, and the statistics it has. It explains the statements and runs none of them, so
 * it may be called on a database in use. On a small table it asks for the plan that Postgres would take if it could not
 * read the whole.
 *
 * @throws AssertionError that names each statement, and what it would read instead.
 * @example
 * test("no statement scans the table", async () => {
 *   await assertPlans(db, { queue: "send-receipt" });
 * });
 */
export async function assertPlans(db: Db, options: AssertPlansOptions = {}): Promise<void> {
  checkOptions("assertPlans", assertPlansOptions, options);
  const handle = primary("assertPlans", db);
  const pgqueue = options.pgqueue ?? (await pgqueueOf("assertPlans", handle));
  const binding = bindingOf("assertPlans", pgqueue);
  const queue = queueName("assertPlans", options.queue ?? "pgqueue-plans");
  const table = tableName(binding.tasks).name;
  // Our own table types are spelled without the classes of Drizzle.
  const primaryKey = getTableConfig(binding.tasks as unknown as PgTable).primaryKeys[0]?.getName() ?? `${table}_pkey`;
  const faults = await handle.transaction(async (tx) => {
    // To Drizzle 1.0 a transaction is no database by type.
    const run = (query: SQL) => (tx as unknown as Db).execute(query);
    const isSmall = (await countOf(run, binding)) < fewRows;
    const [before] = rowsOf(await run(sql`select current_setting('enable_seqscan') as value`)) as [{ value: string }];
    if (isSmall) await run(sql`set local enable_seqscan = off`);
    const found = new Set<string>();
    for (const [name, statement, indexes] of hotStatements(tx as unknown as Db, pgqueue, binding, queue)) {
      const allowed = indexes.map((index) => (index === "pkey" ? primaryKey : `${table}_${index}`));
      const [row] = rowsOf(await run(sql`explain (format json) ${statement}`));
      for (const access of accessesTo(table, planOf(row))) {
        if (!allowed.includes(access.index ?? "")) {
          found.add(`${name}: ${[access.node, access.index].join(" ").trim()}, expected ${allowed.join(" or ")}`);
        }
      }
    }
    // In a transaction of the caller's it would stay.
    if (isSmall) await run(sql`select set_config('enable_seqscan', ${before.value}, true)`);
    return [...found];
  });
  if (faults.length === 0) return;
  const message = `${faults.length} plans on ${qualifiedName(binding.tasks)} are not as they should be:\n${faults.map((fault) => `- ${fault}`).join("\n")}`;
  throw new AssertionError({
    message,
    actual: faults,
    expected: [],
    operator: "assertPlans",
    stackStartFn: assertPlans,
  });
}

/** Each with the indexes that it may read. */
function hotStatements(
  db: Db,
  pgqueue: Pgqueue<any, any>,
  binding: Binding,
  queue: string,
): readonly [name: string, statement: SQL, indexes: readonly string[]][] {
  const job = defineJob({ queue, payload: v.any() });
  const ticker = defineTicker({ queue, key: "plans", payload: v.any(), initialPayload: null, every: "1d" });
  const token = newClaimToken();
  const tasks = Array.from({ length: 100 }, (_, i) => ({
    ...({ queue, key: null, token, claims: 1, attempt: 1, maxRetries: null } as Claimed),
    id: i + 1,
  }));
  const unretained = defineJob({ queue, payload: v.any(), retain: { completed: 0 } });
  const completed = tasks.map((task) => ({ task, result: done() }));
  const ended = tasks.map((task, i) => ({ task, result: i % 2 ? done() : retry("plans") }));
  const purge = { queue, olderThan: "1d", limit: 1_000 } as const;
  const last = { priority: 0, exactRunAt: "2000-01-01 00:00:00+00", id: 1 };
  const builders: [string, { getSQL(): SQL }, string[]][] = [
    ["claim", pgqueue.claim(db, job, { limit: 100 }), ["claim", "pkey"]],
    ["claim after a task", pgqueue.claim(db, job, { limit: 100, after: [last] }), ["claim", "pkey"]],
    ["claim of a ticker", pgqueue.claim(db, ticker, { limit: 1 }), ["claim", "key", "pkey"]],
    ["finalize of completions", pgqueue.finalize(db, job, completed), ["pkey"]],
    ["finalize", pgqueue.finalize(db, job, ended), ["pkey"]],
    ["finalize that deletes", pgqueue.finalize(db, unretained, completed), ["pkey"]],
    ["finalize that deletes some", pgqueue.finalize(db, unretained, ended), ["pkey"]],
    ["release", pgqueue.release(db, job, tasks), ["pkey"]],
    ["extendLease", pgqueue.extendLease(db, job, tasks), ["pkey"]],
    ["markStarted", pgqueue.markStarted(db, job, tasks), ["pkey"]],
    ["releaseClaim", pgqueue.releaseClaim(db, job, token), ["lease", "pkey"]],
    ["reap", pgqueue.reap(db, job), ["lease", "pkey"]],
    ["purge of completed", pgqueue.purge(db, { ...purge, status: "completed" }), ["finished", "pkey"]],
    ["purge of failed", pgqueue.purge(db, { ...purge, status: "failed" }), ["finished", "pkey"]],
    ["getTask", pgqueue.getTask(db, 1), ["pkey"]],
  ];
  return [
    ...builders.map(([name, builder, indexes]) => [name, builder.getSQL(), indexes] as const),
    ["enqueue of a held hash", holderOf(binding, queue, sql`${"plans"}::text`), ["hash"]],
  ] as [string, SQL, string[]][];
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly Plans?: readonly PlanNode[];
}

interface Access {
  readonly node: string;
  readonly index?: string | undefined;
}

/** How the plan reads a table. A bitmap heap scan reads what the index scan below it found. */
function accessesTo(table: string, node: PlanNode): Access[] {
  const type = node["Node Type"];
  const index = node["Index Name"];
  const reads = type.endsWith("Scan") && type !== "Bitmap Heap Scan";
  const isOurs = node["Relation Name"] === table || (index?.startsWith(`${table}_`) ?? false);
  const own = reads && isOurs ? [{ node: type, index }] : [];
  return [...own, ...(node.Plans ?? []).flatMap((plan) => accessesTo(table, plan))];
}

async function countOf(run: (query: SQL) => PromiseLike<unknown>, { tasks }: Binding): Promise<number> {
  const name = quotedName(tasks);
  const [row] = rowsOf(await run(sql`select reltuples::float8 as count from pg_class where oid = ${name}::regclass`));
  return Number((row as { count: unknown }).count);
}

/** Drivers answer with the rows, or with an object that has them. */
function rowsOf(answer: unknown): readonly unknown[] {
  return Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows;
}

function planOf(row: unknown): PlanNode {
  const plan = (row as { "QUERY PLAN": unknown })["QUERY PLAN"];
  const [{ Plan }] = (typeof plan === "string" ? JSON.parse(plan) : plan) as [{ Plan: PlanNode }];
  return Plan;
}
