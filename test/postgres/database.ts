import { randomBytes } from "node:crypto";
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { migrate } from "../../src/migrate.ts";

export interface DatabaseOptions {
  /** Applies the schema before the database is handed over. */
  migrated?: boolean;
  /** Connection string of another server than the one the whole test run shares. */
  server?: string;
  /** Options of the postgres.js client. */
  client?: postgres.Options<Record<string, postgres.PostgresType>>;
}

export interface TestDatabase {
  name: string;
  url: string;
  client: postgres.Sql;
  db: PostgresJsDatabase<Record<string, never>>;
  migrate(): Promise<void>;
  /** Closes the client and drops the database, whoever else is still connected to it. */
  end(): Promise<void>;
}

/** Makes a fresh database that no other test sees. */
export async function createDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  const shared = options.server === undefined ? await sharedServer() : undefined;
  const server = options.server ?? shared!.url;
  const template = options.migrated ? shared?.template : undefined;
  const name = uniqueName("test");
  await administer(server, (sql) =>
    template ? sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(template)}` : sql`CREATE DATABASE ${sql(name)}`,
  );

  const url = databaseUrl(server, name);
  const client = postgres(url, { onnotice: () => {}, ...options.client });
  const db = drizzle(client);
  const database: TestDatabase = {
    name,
    url,
    client,
    db,
    migrate: () => migrate(db),
    async end() {
      // At once, postgres.js would reject what nobody awaits where a connection is being opened.
      await client.end({ timeout: 1 });
      await dropDatabase(server, name);
    },
  };
  if (options.migrated && !template) await database.migrate();
  return database;
}

/** Makes a database with the schema applied, which copies are made from; returns its name. */
export async function createTemplate(server: string): Promise<string> {
  const name = uniqueName("template");
  await administer(server, (sql) => sql`CREATE DATABASE ${sql(name)}`);
  const client = postgres(databaseUrl(server, name), { onnotice: () => {}, max: 1 });
  await migrate(drizzle(client));
  await client.end();
  // Postgres copies a database only while nobody is connected to it.
  await administer(server, (sql) => sql`ALTER DATABASE ${sql(name)} ALLOW_CONNECTIONS false`);
  return name;
}

export async function dropDatabase(server: string, name: string): Promise<void> {
  await administer(server, (sql) => sql`DROP DATABASE IF EXISTS ${sql(name)} WITH (FORCE)`);
}

export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function sharedServer(): Promise<{ url: string; template: string }> {
  // Loaded on demand: scripts outside a test run name their own server, and Vitest refuses to load there.
  const { inject } = await import("vitest");
  return { url: inject("postgresUrl"), template: inject("postgresTemplate") };
}

async function administer(server: string, statement: (sql: postgres.Sql) => PromiseLike<unknown>): Promise<void> {
  const sql = postgres(server, { onnotice: () => {}, max: 1 });
  try {
    await statement(sql);
  } finally {
    await sql.end({ timeout: 0 });
  }
}

function uniqueName(kind: string): string {
  return `pgqueue_${kind}_${randomBytes(6).toString("hex")}`;
}
