import { getTableName } from "drizzle-orm";
import { SchemaError } from "../errors.ts";
import type { Binding } from "./binding.ts";

const undefinedTable = "42P01";
const undefinedColumn = "42703";

/** The statement with errors about pgqueue's own tables put in words: a builder or a promise. */
export function withSchemaErrors<T>(binding: Binding, statement: T): T {
  const explain = (error: unknown): never => {
    throw explained(binding, error);
  };
  if (statement instanceof Promise) return statement.catch(explain) as T;
  const builder = statement as { execute(...args: unknown[]): Promise<unknown> };
  const execute = builder.execute;
  builder.execute = (...args) => execute.apply(builder, args).catch(explain);
  return statement;
}

function explained({ tasks, queues }: Binding, error: unknown): unknown {
  const { code, message = "" } = databaseError(error);
  const table = [tasks, queues].map(getTableName).find((name) => message.includes(name)) ?? getTableName(tasks);
  if (code === undefinedTable && message.includes(table)) {
    return new SchemaError(
      table,
      `table "${table}" does not exist in this database. Export it from your Drizzle schema by itself, as in \`export const { tasks, queues } = pgqueueTables()\` (drizzle-kit does not find tables inside an exported object), run \`drizzle-kit generate\`, and apply the migration; without drizzle-kit, call \`await migrate(db)\``,
      error,
    );
  }
  const column = code === undefinedColumn ? /"([^"]+)"|(\S+\.\S+)/.exec(message)?.[0].replaceAll('"', "") : undefined;
  if (!column || !isOwnColumn({ tasks, queues }, column)) return error;
  return new SchemaError(
    column,
    `column "${column}" of table "${table}" does not exist in this database, which is at an older version of pgqueue's tables than this code: run \`drizzle-kit generate\` and apply the migration; without drizzle-kit, call \`await migrate(db)\``,
    error,
  );
}

function isOwnColumn({ tasks, queues }: Pick<Binding, "tasks" | "queues">, column: string): boolean {
  const name = column.slice(column.lastIndexOf(".") + 1);
  return [tasks, queues].some((table) => Object.values(table).some((own) => own?.name === name));
}

/** Postgres' own error inside Drizzle's: `code` is the SQLSTATE, which Bun calls `errno`. */
export function databaseError(error: unknown): { code?: string; message?: string } {
  for (let inner = error, depth = 0; typeof inner === "object" && inner !== null && depth < 5; depth++) {
    const { code, errno, message, cause } = inner as Record<string, unknown>;
    const state = [errno, code].find((value) => typeof value === "string" && /^[0-9A-Z]{5}$/.test(value));
    if (state) return { code: state as string, message: String(message) };
    inner = cause;
  }
  return {};
}
