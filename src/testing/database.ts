import { PGlite } from "@electric-sql/pglite";
import { generateDrizzleJson, generateMigration } from "drizzle-kit/api";
import { drizzle, type PgliteDatabase } from "drizzle-orm/pglite";

export interface TestDatabase<Schema extends Record<string, unknown>> {
  readonly db: PgliteDatabase<Schema>;
  /** Frees the database. */
  close(): Promise<void>;
}

/**
 * A new, empty database inside this process, with the tables of your schema: Postgres itself, compiled to WebAssembly. It
 * has one connection, so do not use `db` inside a transaction of `db`. Needs `@electric-sql/pglite` and `drizzle-kit`.
 *
 * @example
 * import * as schema from "./schema";
 * const { db, close } = await createTestDatabase({ schema });
 */
export async function createTestDatabase<Schema extends Record<string, unknown>>({
  schema,
}: {
  schema: Schema;
}): Promise<TestDatabase<Schema>> {
  const client = await PGlite.create();
  const statements = await generateMigration(generateDrizzleJson({}), generateDrizzleJson(schema));
  for (const statement of statements) await client.exec(statement);
  return { db: drizzle({ client, schema }), close: () => client.close() };
}
