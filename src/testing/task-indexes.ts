import { type SQL, sql } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import type { Binding } from "../queries/binding.ts";
import { quotedName, tableName } from "../queries/table-name.ts";

/** The indexes that pgqueue declares, by what follows the table's name in theirs. */
export type OwnIndex = "claim" | "lease" | "finished" | "hash" | "key" | "pkey";

export interface TaskIndex {
  readonly name: string;
  readonly columns: readonly (string | null)[];
  readonly isPartial: boolean;
}

/** As the table declares it. */
export function declared({ tasks }: Binding, name: OwnIndex): TaskIndex {
  const wanted = `${tableName(tasks).name}_${name}`;
  // Our own table types are spelled without the classes of Drizzle.
  const { indexes, primaryKeys } = getTableConfig(tasks as unknown as PgTable);
  if (name === "pkey") return { name: primaryKeys[0]?.getName() ?? wanted, columns: ["id"], isPartial: false };
  const { columns, where } = indexes.find(({ config }) => config.name === wanted)!.config;
  return { name: wanted, columns: columns.map((column) => (column as { name: string }).name), isPartial: !!where };
}

/**
 * Whether an index does what the declared one does, whatever it is called. What the predicate of a partial one says need not
 * be asked: Postgres reads it only where the statement implies it.
 */
export function standsFor(index: TaskIndex, own: TaskIndex): boolean {
  return own.columns.every((column, i) => column === index.columns[i]) && (index.isPartial || !own.isPartial);
}

/** As a reader finds it again in their schema. */
export function described({ name, columns, isPartial }: TaskIndex): string {
  return `${name} (${columns.join(", ")}${isPartial ? "; partial" : ""})`;
}

/** Those that the table has, with the key columns of each, null for an expression; as JSON, which all drivers read alike. */
export function selectIndexes({ tasks }: Binding): SQL {
  return sql`
    select json_build_object('name', relname, 'isPartial', indpred is not null, 'columns', array(
      select attname::text from unnest(indkey::int2[]) with ordinality as keys(number, position)
        left join pg_attribute on attrelid = indrelid and attnum = keys.number
      where position <= indnkeyatts order by position))::text as index
    from pg_index join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam
    where amname = 'btree' and indrelid = to_regclass(${quotedName(tasks)}::text)`;
}
