import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";

export interface TableName {
  readonly schema: string | undefined;
  readonly name: string;
}

/** What a table is called in the database. */
export function tableName(table: unknown): TableName {
  // Our own table types are spelled without the classes of Drizzle, which differ between its majors.
  const { schema, name } = getTableConfig(table as PgTable);
  return { schema, name };
}

/** As Postgres writes it in its messages. */
export function qualifiedName(table: unknown): string {
  const { schema, name } = tableName(table);
  return schema ? `${schema}.${name}` : name;
}

/** As SQL names it, whatever its characters. */
export function quotedName(table: unknown): string {
  const { schema, name } = tableName(table);
  return schema ? `"${schema}"."${name}"` : `"${name}"`;
}
