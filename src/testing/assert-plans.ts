import { AssertionError } from "node:assert";
import { type SQL, sql } from "drizzle-orm";
import * as v from "valibot";
import type { Binding } from "../queries/binding.ts";
import { bindingOf } from "../queries/create.ts";
import { databaseError } from "../queries/database-error.ts";
import { explained } from "../queries/explained.ts";
import type { Pgqueue } from "../queries/pgqueue.ts";
import { type Queue, queueName } from "../queries/queue-name.ts";
import { type Db, primary } from "../queries/statement.ts";
import { qualifiedName, quotedName, tableName } from "../queries/table-name.ts";
import { checkOptions } from "../tasks/options.ts";
import { type HotStatement, hotStatements } from "./hot-statements.ts";
import { pgqueueOf } from "./pgqueue-of.ts";
import { type Access, accessesTo, planOf } from "./plan.ts";
import { declared, described, selectIndexes, standsFor, type TaskIndex } from "./task-indexes.ts";

export interface AssertPlansOptions {
  /** Whose tables. Default: those that this database has; needed where it has several. */
  pgqueue?: Pgqueue<any, any> | undefined;
  /** A spec, or the name of its queue: one that has tasks, if statistics should count. Default: a queue that has none. */
  queue?: Queue | undefined;
}

const assertPlansOptions = v.strictObject({ pgqueue: v.optional(v.unknown()), queue: v.optional(v.unknown()) });

/** Below so many rows a sequential scan may be the best plan, and the question is whether the index could be used. */
const fewRows = 10_000;

/**
 * Asserts that Postgres finds the rows of each hot statement by the index that is made for it, on your tables as they are:
 * with your columns, policies and rights, and the statistics it has. It explains the statements and runs none of them, so
 * it may be called on a database in use, and in a transaction. On a table below 10,000 rows it asks for the plan that
 * Postgres would take if it could not read the whole. An index counts by its columns, and whether it is partial. A `where`
 * of yours in a claim is not looked at.
 *
 * @throws AssertionError that names each statement, and what it would read instead.
 * @throws SchemaError, AccessError as the statements would.
 * @throws OptionsError when an option is not what it should be, or the database has several sets of tables and none is named.
 * @throws ConflictError when the transaction that it is given has ended, where the driver shows it.
 * @example
 * test("no statement scans the table", async () => {
 *   await assertPlans(db, { pgqueue, queue: sendReceipt });
 * });
 */
export async function assertPlans(db: Db, options: AssertPlansOptions = {}): Promise<void> {
  checkOptions("assertPlans", assertPlansOptions, options);
  const handle = primary("assertPlans", db);
  const pgqueue = options.pgqueue ?? (await pgqueueOf("assertPlans", handle));
  const binding = bindingOf("assertPlans", pgqueue);
  const queue = queueName("assertPlans", options.queue ?? "pgqueue-plans");
  const faults = await faultsOf(handle as unknown as Db, binding, queue).catch((error) => {
    throw explained(binding, error);
  });
  if (faults.length === 0) return;
  const plans = faults.length === 1 ? "1 plan" : `${faults.length} plans`;
  const are = faults.length === 1 ? "is not as it" : "are not as they";
  throw new AssertionError({
    message: `${plans} on ${qualifiedName(binding.tasks)} ${are} should be:
${faults.map((fault) => `- ${fault}`).join("\n")}
An index counts by its columns, and whether it is partial, whatever its name.`,
    actual: faults,
    expected: [],
    operator: "assertPlans",
    stackStartFn: assertPlans,
  });
}

async function faultsOf(db: Db, binding: Binding, queue: string): Promise<string[]> {
  return db.transaction(async (tx: Db) => {
    const size = await first<TableSize>(tx, selectSize(binding));
    const isSmall = Number(size?.rows ?? 0) < fewRows;
    const before = await first<{ value: string }>(tx, sql`select current_setting('enable_seqscan') as value`);
    if (isSmall) await tx.execute(sql`set local enable_seqscan = off`);
    const listed = rowsOf(await tx.execute(selectIndexes(binding))) as { index: string }[];
    const indexes = listed.map(({ index }): TaskIndex => JSON.parse(index));
    const table: Table = { binding, indexes, isKnownSmall: isSmall && size?.isAnalyzed === true };
    const found = new Set<string>();
    for (const hot of await hotStatements(binding, tx, queue)) {
      for (const fault of await faultsIn(tx, table, hot)) found.add(fault);
    }
    // In a transaction of the caller's it would stay.
    if (isSmall) await tx.execute(sql`select set_config('enable_seqscan', ${before!.value}, true)`);
    return [...found];
  });
}

interface Table {
  readonly binding: Binding;
  readonly indexes: readonly TaskIndex[];
  /** Of a few rows, by its statistics: to read an index from end to end may then be as good as to look rows up in it. */
  readonly isKnownSmall: boolean;
}

const noArbiter = "42P10";

async function faultsIn(
  tx: Db,
  { binding, indexes, isKnownSmall }: Table,
  { name, statement, indexes: names }: HotStatement,
): Promise<string[]> {
  const allowed = names.map((own) => declared(binding, own));
  const expected = `expected ${allowed.map(described).join(" or ")}`;
  // What can be told of a few rows is whether it is there.
  const mayBeWhole = isKnownSmall && indexes.some((index) => standsFor(index, allowed[0]!));
  const isRight = ({ index: used, isWhole }: Access) => {
    if (isWhole) return mayBeWhole;
    const index = indexes.find((other) => other.name === used);
    return index !== undefined && allowed.some((own) => standsFor(index, own));
  };
  try {
    // In a transaction of its own, since an error would end the one around.
    const row = await tx.transaction((inner: Db) => first(inner, sql`explain (format json) ${statement}`));
    return accessesTo(tableName(binding.tasks).name, planOf(row))
      .filter((access) => !isRight(access))
      .map(
        ({ node, index, isWhole }) =>
          `${name}: ${[node, index, isWhole && "as a whole"].filter(Boolean).join(" ")}, ${expected}`,
      );
  } catch (error) {
    if (databaseError(error).code !== noArbiter) throw error;
    return [`${name}: no unique index to insert by, ${expected}`];
  }
}

interface TableSize {
  readonly rows: unknown;
  readonly isAnalyzed: boolean;
}

/**
 * As the planner counts: by the pages that there are, and how many rows one had when the table was last analyzed. If it never
 * was, by some twenty rows a page.
 */
function selectSize({ tasks }: Binding): SQL {
  return sql`
    select pg_relation_size(oid) / current_setting('block_size')::float8
      * case when relpages > 0 and reltuples >= 0 then reltuples / relpages else 20 end as rows,
      relpages > 0 and reltuples >= 0 as "isAnalyzed"
    from pg_class where oid = to_regclass(${quotedName(tasks)}::text)`;
}

async function first<Row>(db: Db, query: SQL): Promise<Row | undefined> {
  return rowsOf(await db.execute(query))[0] as Row | undefined;
}

/** Drivers answer with the rows, or with an object that has them. */
function rowsOf(answer: unknown): readonly unknown[] {
  return Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows;
}
