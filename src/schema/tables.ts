import { getTableColumns, sql } from "drizzle-orm";
import {
  check,
  index,
  type PgColumn,
  type PgSchema,
  type PgTableExtraConfigValue,
  pgTable,
  primaryKey,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { OptionsError } from "../errors.ts";
import { type ColumnMap, type QueueColumns, queueColumns, type TaskColumns, taskColumns } from "./columns.ts";

type Table<Name extends string, Columns> = ReturnType<
  typeof pgTable<Name, { [K in keyof Columns]: Columns[K] & ColumnMap[string] }>
>;
export type TasksTable<Name extends string = "pgqueue_tasks", Extra = {}> = Table<Name, TaskColumns & Extra>;
export type QueuesTable<Name extends string = "pgqueue_queues"> = Table<Name, QueueColumns>;

export interface PgqueueTables<Prefix extends string = "pgqueue_", Extra = {}> {
  /** One row a task. */
  tasks: TasksTable<`${Prefix}tasks`, Extra>;
  /** One row a queue that was ever paused. */
  queues: QueuesTable<`${Prefix}queues`>;
}

type ColumnsOf<Extra> = { [K in keyof (TaskColumns & Extra)]: (TaskColumns & Extra)[K] & ColumnMap[string] };
type Self<Extra> = Parameters<NonNullable<Parameters<typeof pgTable<string, ColumnsOf<Extra>>>[2]>>[0];

export interface PgqueueTablesOptions<Prefix extends string, Extra> {
  /** Your own exported `pgSchema`. Default: the first schema of the search path. */
  schema?: PgSchema;
  /** Goes before the names of tables, indexes and checks. Default `pgqueue_`. */
  prefix?: Prefix;
  /** Your own columns on the task table, typed through enqueue, claim, `job.columns` and `where`. */
  columns?: Extra;
  /** Your own indexes, foreign keys, checks and policies on the task table. */
  extraConfig?: (table: Self<Extra>) => PgTableExtraConfigValue[];
  /** Makes the primary key `(id, queue)`, so that Citus can distribute the table by `queue`. Default false. */
  distributed?: boolean;
}

/**
 * The two tables of a queue, to be exported one by one from your own Drizzle schema, where drizzle-kit finds them.
 *
 * @throws OptionsError when a column of yours has the name of one of pgqueue's, or the prefix is not an identifier.
 * @example
 * export const { tasks, queues } = pgqueueTables();
 * @example
 * export const { tasks: jobTasks, queues: jobQueues } = pgqueueTables({
 *   columns: { tenantId: uuid("tenant_id").notNull() },
 *   extraConfig: (t) => [index("tasks_by_tenant").on(t.tenantId)],
 * });
 */
export function pgqueueTables<const Prefix extends string = "pgqueue_", Extra extends ColumnMap = {}>(
  options: PgqueueTablesOptions<Prefix, Extra> = {},
): PgqueueTables<Prefix, Extra> {
  const { prefix = "pgqueue_", schema, columns = {}, distributed = false, extraConfig, ...unknown } = options;
  for (const [name, value] of Object.entries(unknown)) {
    throw new OptionsError(`pgqueueTables.${name}`, value, "no option of this name");
  }
  if (schema && typeof schema.table !== "function") {
    throw new OptionsError("pgqueueTables.schema", schema, "a schema made by pgSchema");
  }
  if (typeof prefix !== "string" || !/^[a-z_][a-z0-9_]{0,39}$/i.test(prefix)) {
    throw new OptionsError("pgqueueTables.prefix", prefix, "letters, digits and underscores, at most 40");
  }
  const own = taskColumns(!distributed);
  for (const [name, column] of Object.entries(columns)) {
    if (Object.hasOwn(own, name)) throw nameInUse(name, name);
    if (typeof (column as { notNull?: unknown } | null)?.notNull !== "function") {
      throw new OptionsError(`pgqueueTables.columns.${name}`, column, 'a column, such as text("name")');
    }
  }

  const table = (schema ? schema.table : pgTable) as typeof pgTable;
  const tasks = table(`${prefix}tasks`, { ...own, ...columns } as typeof own, (t) => [
    ...(distributed ? [primaryKey({ columns: [t.id, t.queue] })] : []),
    check(`${prefix}tasks_kind`, sql`${t.kind} in ('job', 'ticker')`),
    check(`${prefix}tasks_status`, sql`${t.status} in ('pending', 'running', 'completed', 'failed', 'disabled')`),
    check(`${prefix}tasks_priority`, sql`${t.priority} between 0 and 9`),
    check(`${prefix}tasks_claim_token`, sql`(${t.status} = 'running') = (${t.claimToken} is not null)`),
    // Indexes stay ascending and plain: drizzle-kit would find others changed at every push, and Drizzle's desc() differs
    // between an index and an order by.
    index(`${prefix}tasks_claim`).on(t.queue, t.priority, t.runAt, t.id).where(sql`${t.status} = 'pending'`),
    index(`${prefix}tasks_lease`).on(t.queue, t.leaseUntil).where(sql`${t.status} = 'running'`),
    uniqueIndex(`${prefix}tasks_hash`).on(t.queue, t.hash).where(sql`${t.hashHeld}`),
    uniqueIndex(`${prefix}tasks_key`).on(t.queue, t.key).where(sql`${t.key} is not null`),
    index(`${prefix}tasks_finished`)
      .on(t.queue, t.status, t.finishedAt)
      .where(sql`${t.status} in ('completed', 'failed')`),
    // The table was made of `own` and the user's columns; TypeScript only follows `own`.
    ...(extraConfig ? extraConfig(t as unknown as Self<Extra>) : []),
  ]);
  const all: Readonly<Record<string, PgColumn>> = getTableColumns(tasks);
  const ownNames = new Set(Object.keys(own).map((key) => all[key]?.name));
  for (const key of Object.keys(columns)) {
    const { name, primary } = all[key]!;
    if (ownNames.has(name)) throw nameInUse(key, name);
    ownNames.add(name);
    if (primary) throw new OptionsError(`pgqueueTables.columns.${key}`, name, "no primary key: the table has one");
  }
  const queues = table(`${prefix}queues`, queueColumns());
  // For the same reason.
  return { tasks, queues } as unknown as PgqueueTables<Prefix, Extra>;
}

function nameInUse(key: string, name: unknown): OptionsError {
  return new OptionsError(`pgqueueTables.columns.${key}`, name, "a name that no other column has");
}
