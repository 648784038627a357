import { getTableColumns, getTableName, type Table } from "drizzle-orm";
import { SchemaError } from "../errors.ts";
import type { Binding } from "./binding.ts";
import { databaseError } from "./database-error.ts";
import { qualifiedName, tableName } from "./table-name.ts";

const undefinedTable = "42P01";
const undefinedColumn = "42703";

/** A SchemaError where the error says that a table or column of pgqueue's own is missing. */
export function schemaError(
  { tasks, queues, extra }: Binding,
  error: unknown,
  { hasUsersSelect = false } = {},
): SchemaError | undefined {
  const { code, message = "" } = databaseError(error);
  const tables: readonly Table[] = [tasks, queues];
  if (code === undefinedTable) {
    // The same code stands for a name that is missing in a FROM clause, which is no fault of the database.
    const [name] = /FROM/.test(message) ? [] : quoted(message);
    const table = tables.find((own) => qualifiedName(own) === name);
    return table && missingTable(table, error);
  }
  if (code === undefinedColumn) {
    const found = namedColumn(message);
    // A bare name may be one of the tables that the user selects from.
    if (hasUsersSelect && found.relation === undefined) return undefined;
    const table = tables.find((own) => isColumnOf(own, found));
    const isUsers = Object.values(extra).some(({ name }) => name === found.column);
    return table && missingColumn(found.column, table, isUsers, error);
  }
  return undefined;
}

function missingTable(table: Table, error: unknown): SchemaError {
  const { schema, name } = tableName(table);
  const exported = schema
    ? `, and its schema too, as in \`export const schema = pgSchema("${schema}")\` (drizzle-kit creates no schema that is not exported)`
    : "";
  return new SchemaError(
    name,
    `table "${qualifiedName(table)}" does not exist in this database. Export it from your Drizzle schema by itself, as in \`export const { tasks, queues } = pgqueueTables()\` (drizzle-kit does not find tables inside an exported object)${exported}, run \`drizzle-kit generate\`, and apply the migration${withoutKit(table)}`,
    error,
  );
}

function missingColumn(column: string, table: Table, isUsers: boolean, error: unknown): SchemaError {
  const missing = `column "${column}" of table "${qualifiedName(table)}" does not exist in this database`;
  const generate = "run `drizzle-kit generate` and apply the migration";
  const advice = isUsers
    ? `: it is one of your own, and no migration with it was applied; ${generate}`
    : `, which is at an older version of pgqueue's tables than this code: ${generate}${withoutKit(table)}`;
  return new SchemaError(column, missing + advice, error);
}

/** `migrate` makes the tables of default names, in no schema of the user's. */
function withoutKit(table: Table): string {
  return /^pgqueue_(tasks|queues)$/.test(qualifiedName(table)) ? "; without drizzle-kit, call `await migrate(db)`" : "";
}

interface NamedColumn {
  relation?: string | undefined;
  column: string;
}

/** Postgres says `column "c"`, `column "c" of relation "t"` or `column t.c`. */
function namedColumn(message: string): NamedColumn {
  const [column, relation] = quoted(message);
  if (column !== undefined) return { relation, column };
  const [, alias, name = ""] = /(\S+)\.(\S+)/.exec(message) ?? [];
  return { relation: alias, column: name };
}

/** What a message puts in quotes, which differ between languages. */
function quoted(message: string): string[] {
  return Array.from(message.matchAll(/["„“«»]\s*([^"„“”«»]+?)\s*["“”«»]/g), ([, text = ""]) => text);
}

/** Other names that the statements give to the tables. */
const aliases = ["holder", "other", "excluded"];

function isColumnOf(table: Table, { relation, column }: NamedColumn): boolean {
  const isOurs = relation === undefined || relation === getTableName(table) || aliases.includes(relation);
  return isOurs && Object.values(getTableColumns(table)).some(({ name }) => name === column);
}
