import { pgqueueTables } from "./tables.ts";

export type { TaskError, TaskKind, TaskStatus } from "./columns.ts";
export type { PgqueueTables, PgqueueTablesOptions, QueuesTable, TasksTable } from "./tables.ts";
export { pgqueueTables };

/** The tables under their default names, so that `export * from "pgqueue/schema"` is enough for drizzle-kit. */
export const { tasks, queues } = pgqueueTables();
