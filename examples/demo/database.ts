import { PGlite } from "@electric-sql/pglite";
import { generateDrizzleJson, generateMigration } from "drizzle-kit/api";
import { sql } from "drizzle-orm";
import type { PgDatabase } from "drizzle-orm/pg-core";
import { drizzle as drizzlePglite } from "drizzle-orm/pglite";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { say } from "./narrator.ts";
import * as schema from "./schema.ts";

export type Db = PgDatabase<any, typeof schema>;

export interface Database {
  readonly db: Db;
  readonly name: string;
  /** Removes whatever the demo made. Further calls do nothing more. */
  close(): Promise<void>;
}

/** The Postgres of `DATABASE_URL`, or else one inside this process. */
export async function openDatabase(url = process.env.DATABASE_URL): Promise<Database> {
  const database = url ? onServer(url) : await inMemory();
  try {
    await createTables(database.db);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function inMemory(): Promise<Database> {
  say("starting PGlite, which takes a few seconds");
  const client = await PGlite.create();
  return {
    db: drizzlePglite({ client, schema }),
    name: "PGlite, a Postgres inside this process",
    close: async () => void (client.closed || (await client.close())),
  };
}

function onServer(url: string): Database {
  const quiet = { onnotice: () => {} };
  const client = postgres(url, quiet);
  const { schemaName } = schema.shop;
  say("connecting to the Postgres of DATABASE_URL");
  const cleanUp = async () => {
    await client.end({ timeout: 0 });
    const cleaner = postgres(url, { ...quiet, max: 1 });
    await cleaner`drop schema if exists ${cleaner(schemaName)} cascade`;
    await cleaner.end();
  };
  let cleaned: Promise<void> | undefined;
  return {
    db: drizzlePostgres({ client, schema }),
    name: `the Postgres of DATABASE_URL, in the schema "${schemaName}"`,
    close() {
      cleaned ??= cleanUp();
      return cleaned;
    },
  };
}

/** What `drizzle-kit generate` would write into a migration. */
async function createTables(db: Db): Promise<void> {
  const migration = await generateMigration(generateDrizzleJson({}), generateDrizzleJson(schema));
  for (const statement of migration) await db.execute(sql.raw(statement));
}
