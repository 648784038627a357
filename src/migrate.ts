import { sql } from "drizzle-orm";
import { ConflictError } from "./errors.ts";
import { databaseError } from "./queries/database-error.ts";
import { type Db, type DrizzleDb, primary } from "./queries/statement.ts";

const journal = "pgqueue_migrations";
// Any number that no other advisory lock of the database is likely to use.
const lock = 7_165_318_205_221;
const duplicateTable = "42P07";

/**
 * Creates or upgrades pgqueue's tables under their default names, for those who do not use drizzle-kit. What was applied
 * is kept in a table of its own, `pgqueue_migrations`. Call it as often as you like, from as many processes as you like:
 * all happens in one transaction, one process at a time.
 *
 * @throws ConflictError when the tables are there already, made by migrations of your own.
 * @example await migrate(db);
 */
export async function migrate(db: Db): Promise<void> {
  const migrations = await packagedMigrations();
  const run = async (transaction: unknown) => {
    const tx = transaction as DrizzleDb;
    await tx.execute(sql`select pg_advisory_xact_lock(${lock}::bigint)`);
    const applied = await appliedMigrations(tx);
    for (const { name, statements } of migrations.filter((migration) => !applied.has(migration.name))) {
      for (const statement of statements) await tx.execute(sql.raw(statement)).catch(explain);
      await tx.execute(sql`insert into ${sql.identifier(journal)} (name) values (${name})`);
    }
  };
  // At a stricter level the transaction would not see what others committed while it waited for the lock.
  await primary("migrate", db).transaction(run, { isolationLevel: "read committed" });
}

async function appliedMigrations(tx: DrizzleDb): Promise<Set<string>> {
  const table = sql.identifier(journal);
  // `create table if not exists` would ask for the right to create, even where there is nothing to do.
  const [found] = await tx
    .select({ exists: sql<boolean>`to_regclass(${journal}) is not null` })
    .from(sql`(select 1) as one`);
  if (!found?.exists) {
    await tx.execute(sql`create table ${table} (name text primary key, applied_at timestamptz not null default now())`);
  }
  const rows = await tx.select({ name: sql<string>`name` }).from(sql`${table}`);
  return new Set(rows.map(({ name }) => name));
}

/** The migrations that drizzle-kit generated, oldest first. */
async function packagedMigrations(): Promise<{ name: string; statements: string[] }[]> {
  const { readFile } = await import("node:fs/promises");
  const read = (file: string) => readFile(new URL(`../drizzle/${file}`, import.meta.url), "utf8");
  const { entries } = JSON.parse(await read("meta/_journal.json")) as { entries: { tag: string }[] };
  return Promise.all(
    entries.map(async ({ tag }) => ({
      name: tag,
      statements: (await read(`${tag}.sql`)).split("--> statement-breakpoint"),
    })),
  );
}

function explain(error: unknown): never {
  if (databaseError(error).code !== duplicateTable) throw error;
  throw new ConflictError(
    "pgqueue's tables exist already, but not by migrate(): your own migrations make them, so leave migrate() out",
    { cause: error },
  );
}
