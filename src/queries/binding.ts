import { getTableColumns, is, Table } from "drizzle-orm";
import { getTableConfig, type PgColumn, type PgTable } from "drizzle-orm/pg-core";
import { OptionsError } from "../errors.ts";
import { queueColumns, taskColumns } from "../schema/columns.ts";
import type { QueuesTable, TasksTable } from "../schema/tables.ts";
import { qualifiedName } from "./table-name.ts";

/** What the statements of one pgqueue are bound to. */
export interface Binding {
  readonly tasks: TasksTable;
  readonly queues: QueuesTable;
  /** The user's own columns of the task table. */
  readonly extra: Readonly<Record<string, PgColumn>>;
  /** Whether new work is announced, and whether an update may do so: Citus refuses volatile functions there. */
  readonly notifies: { readonly onInsert: boolean; readonly onUpdate: boolean };
}

const ownTaskColumns = Object.keys(taskColumns(true));
const ownQueueColumns = Object.keys(queueColumns());

/** @throws OptionsError when a table is not one of `pgqueueTables`. */
export function bind(tables: { tasks: unknown; queues: unknown }, notify: boolean): Binding {
  const columns = columnsOf("createPgqueue.tasks", tables.tasks, ownTaskColumns);
  columnsOf("createPgqueue.queues", tables.queues, ownQueueColumns);
  const [own, other] = [setOf(tables.tasks as Table, "tasks"), setOf(tables.queues as Table, "queues")];
  if (own !== other) throw new OptionsError("createPgqueue.queues", other, `the table made together with ${own}`);
  const isDistributed = getTableConfig(tables.tasks as PgTable).primaryKeys.length > 0;
  return {
    tasks: tables.tasks as TasksTable,
    queues: tables.queues as QueuesTable,
    extra: Object.fromEntries(Object.entries(columns).filter(([name]) => !ownTaskColumns.includes(name))),
    notifies: { onInsert: notify, onUpdate: notify && !isDistributed },
  };
}

/** What a table of `pgqueueTables` is called without its own name: its schema and prefix. */
function setOf(table: Table, name: string): string {
  const own = qualifiedName(table);
  return own.slice(0, own.length - name.length);
}

function columnsOf(field: string, table: unknown, own: readonly string[]): Record<string, PgColumn> {
  if (is(table, Table)) {
    const columns: Record<string, PgColumn> = getTableColumns(table as PgTable);
    if (own.every((name) => name in columns)) return columns;
  }
  throw new OptionsError(field, table, "a table made by pgqueueTables");
}
