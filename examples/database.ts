import { PGlite } from "@electric-sql/pglite";
import { sql } from "drizzle-orm";
import { drizzle as drizzlePglite, type PgliteDatabase } from "drizzle-orm/pglite";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import type { Db } from "pgqueue";
import postgres from "postgres";

interface Options<Config> {
  /** Of the example. On a server its database is `pgqueue_example_` and this. */
  name: string;
  /** The Drizzle schema, whose tables are made. */
  schema: Record<string, unknown>;
  /** What Drizzle is told beside its client. */
  config?: Config;
  /** SQL to run before the tables are made, and after. */
  before?: string;
  after?: string;
  /** The role that `db` acts as once the tables are there. Default: the one that owns them. */
  role?: string;
}

interface Database<Config extends Record<string, any>> {
  /** Of either driver: they differ in no way that an example would notice. */
  db: PgliteDatabase<Config[keyof Config]>;
  close(): Promise<void>;
}

/**
 * A new database with the tables of an example: on the server of `DATABASE_URL`, where it stays to be looked at until the
 * next run, or else inside this process.
 */
export async function openDatabase<Config extends Record<string, any> = {}>(
  options: Options<Config>,
  url = process.env.DATABASE_URL,
): Promise<Database<Config>> {
  return url ? onServer(options, url) : inMemory(options);
}

async function inMemory<Config extends Record<string, any>>({ config, role, ...options }: Options<Config>) {
  const client = await PGlite.create();
  const db = drizzlePglite({ client, ...config });
  await createTables(db, options);
  if (role) await client.exec(`set role ${role}`);
  return { db, close: () => client.close() } as unknown as Database<Config>;
}

async function onServer<Config extends Record<string, any>>(
  { config, role, ...options }: Options<Config>,
  url: string,
) {
  const name = `pgqueue_example_${options.name.replaceAll("-", "_")}`;
  const server = postgres(url, { max: 1, onnotice: () => {} });
  await server`drop database if exists ${server(name)} with (force)`;
  await server`create database ${server(name)}`;
  await server.end();

  const own = new URL(url);
  own.pathname = `/${name}`;
  const owner = postgres(own.href, { max: 1 });
  await createTables(drizzlePostgres({ client: owner }), options);
  await owner.end();

  const client = postgres(own.href, { connection: role ? { role } : {} });
  return { db: drizzlePostgres({ client, ...config }), close: () => client.end() } as unknown as Database<Config>;
}

/** What `drizzle-kit generate` would write into a migration, and `drizzle-kit migrate` run. */
async function createTables(db: Db, { schema, before = "", after = "" }: Options<unknown>): Promise<void> {
  const { generateDrizzleJson, generateMigration } = await loadDrizzleKit();
  const migration = await generateMigration(await generateDrizzleJson({}), await generateDrizzleJson(schema));
  for (const statement of [before, ...migration, after]) if (statement) await db.execute(sql.raw(statement));
}

/** Drizzle 1.0 has moved it. */
async function loadDrizzleKit(): Promise<typeof import("drizzle-kit/api")> {
  const since10: string = "drizzle-kit/api-postgres";
  return import(since10).catch(() => import("drizzle-kit/api"));
}
