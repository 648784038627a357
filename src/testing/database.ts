import { PGlite } from "@electric-sql/pglite";
import { drizzle, type PgliteDatabase } from "drizzle-orm/pglite";
import { OptionsError } from "../errors.ts";

export interface TestDatabase<Schema extends Record<string, unknown>> {
  readonly db: PgliteDatabase<Schema>;
  /** Frees the database. */
  close(): Promise<void>;
}

/**
 * A new, empty database inside this process, with the tables of your schema: Postgres itself, compiled to WebAssembly. It
 * has one connection, so do not use `db` inside a transaction of `db`: it would wait for itself. Needs
 * `@electric-sql/pglite` and `drizzle-kit`.
 *
 * @example
 * import * as schema from "./schema";
 * const { db, close } = await createTestDatabase({ schema });
 */
export async function createTestDatabase<Schema extends Record<string, unknown>>(
  { schema }: { schema: Schema } = {} as never,
): Promise<TestDatabase<Schema>> {
  if (typeof schema !== "object" || schema === null) {
    throw new OptionsError(
      "createTestDatabase.schema",
      schema,
      "your schema module, as in createTestDatabase({ schema })",
    );
  }
  const { generateDrizzleJson, generateMigration } = await loadDrizzleKit();
  const statements = await generateMigration(await generateDrizzleJson({}), await generateDrizzleJson(schema));
  const client = await PGlite.create();
  try {
    for (const statement of statements) await client.exec(statement);
  } catch (error) {
    await client.close();
    throw error;
  }
  return { db: drizzle({ client, schema }), close: () => client.close() };
}

/** The same functions, wherever the major of drizzle-kit that is installed has them. */
async function loadDrizzleKit(): Promise<typeof import("drizzle-kit/api")> {
  const first: string = "drizzle-kit/api-postgres";
  return import(first).catch(() => import("drizzle-kit/api"));
}
