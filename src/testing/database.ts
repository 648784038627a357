import { AsyncLocalStorage } from "node:async_hooks";
import type { PGlite, Transaction } from "@electric-sql/pglite";
import { is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import type { drizzle, PgliteDatabase } from "drizzle-orm/pglite";
import * as v from "valibot";
import { ConflictError, OptionsError, SchemaError } from "../errors.ts";
import { databaseError } from "../queries/database-error.ts";
import { checkOptions } from "../tasks/options.ts";
import { giveDatabase, takeDatabase } from "./pglite-pool.ts";
import { type PreparedQuery, preparedQuery } from "./prepared-query.ts";

/** What Drizzle types `db.query` by: the schema on 0.45, what `defineRelations` made on 1.0. */
type Queryable = ReturnType<typeof drizzle> extends PgliteDatabase<infer Known> ? Known : never;
type DatabaseOf<Known> = Known extends Queryable ? PgliteDatabase<Known> : PgliteDatabase;

export interface TestDatabase<Schema extends Record<string, unknown>, Relations = Schema> {
  readonly db: DatabaseOf<Relations> & { $client: PGlite };
  /** Gives the database up. Whatever still uses it afterwards is refused with an Error. */
  close(): Promise<void>;
}

export interface TestDatabaseOptions<Schema extends Record<string, unknown>, Relations = Schema> {
  /** Your schema module: `import * as schema from "./schema"`. */
  schema: Schema;
  /** What `defineRelations` of Drizzle 1.0 made, for `db.query`. On 0.45 relations are part of the schema. */
  relations?: Relations | undefined;
  /** SQL to run before the tables are made, such as roles that policies name. Default: none. */
  before?: string | undefined;
}

/**
 * A new, empty database inside this process, with the tables of your schema: Postgres itself, compiled to WebAssembly. The
 * first one takes a second or two, the others a fraction of one, since a closed one is emptied and used again. It has one
 * connection, so `db` cannot be used inside a transaction of `db`: that is a ConflictError. Needs `@electric-sql/pglite` and
 * `drizzle-kit`.
 *
 * @throws OptionsError when the schema has no tables, or has them inside of an object; or when an option is none.
 * @throws SchemaError when a `pgSchema` or `pgRole` of its tables is not exported itself.
 * @throws AggregateError when drizzle-kit cannot be loaded, as where it is not installed: of the errors of its import, by its
 * path in 1.0 and in 0.31. That of `@electric-sql/pglite` is thrown as it is.
 * @throws what Postgres says of `before`, or of the tables.
 * @example
 * import * as schema from "./schema";
 * const { db, close } = await createTestDatabase({ schema });
 */
export async function createTestDatabase<Schema extends Record<string, unknown>, Relations = Schema>(
  options: TestDatabaseOptions<Schema, Relations>,
): Promise<TestDatabase<Schema, Relations>> {
  checkOptions("createTestDatabase", testDatabaseOptions, options ?? {});
  const { schema, relations, before = "" } = options ?? {};
  checkSchema(schema);
  const statements = await statementsOf(schema);
  const client = await takeDatabase();
  // PGlite would go on to call who has listened, and what `before` did may not be undone.
  const leave = (forGood: boolean) => (forGood ? client.close() : giveDatabase(client));
  try {
    for (const statement of [before, ...statements]) await client.exec(statement);
  } catch (error) {
    await leave(before !== "");
    throw explained(error);
  }
  const { proxy, revoke, wasListened } = guarded(client, await preparedQuery(client));
  const close = async () => {
    if (revoke()) await leave(before !== "" || wasListened());
  };
  const { drizzle } = await import("drizzle-orm/pglite");
  // The types of Drizzle's options differ between its majors.
  const db = drizzle({ client: proxy, schema, ...(relations && { relations }) } as never);
  return { db: db as unknown as TestDatabase<Schema, Relations>["db"], close };
}

const testDatabaseOptions = v.strictObject({
  schema: v.optional(v.unknown()),
  relations: v.optional(v.unknown()),
  before: v.optional(v.string()),
});

function checkSchema(schema: Record<string, unknown>): void {
  if (typeof schema !== "object" || schema === null) {
    const expected = "your schema module, as in createTestDatabase({ schema })";
    throw new OptionsError("createTestDatabase.schema", schema, expected);
  }
  for (const [name, value] of Object.entries(schema)) {
    if (!isPlainObject(value) || !Object.values(value).some((member) => is(member, PgTable))) continue;
    const expected = "each table exported by itself: drizzle-kit does not find tables inside an object";
    throw new OptionsError(`createTestDatabase.schema.${name}`, value, expected);
  }
}

/** The namespace of a module, as `export * as` makes, has no prototype. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const made = new WeakMap<object, Promise<string[]>>();

function statementsOf(schema: Record<string, unknown>): Promise<string[]> {
  const statements = made.get(schema) ?? generate(schema);
  made.set(schema, statements);
  return statements;
}

async function generate(schema: Record<string, unknown>): Promise<string[]> {
  const { generateDrizzleJson, generateMigration } = await loadDrizzleKit();
  const statements = await generateMigration(await generateDrizzleJson({}), await generateDrizzleJson(schema));
  if (statements.length > 0) return statements;
  throw new OptionsError("createTestDatabase.schema", schema, "a module that exports tables, each by itself");
}

/** The same functions, wherever the major of drizzle-kit that is installed has them. */
async function loadDrizzleKit(): Promise<typeof import("drizzle-kit/api")> {
  const since10: string = "drizzle-kit/api-postgres";
  const errors: unknown[] = [];
  for (const load of [() => import(since10), () => import("drizzle-kit/api")]) {
    try {
      return await load();
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(
    errors,
    "createTestDatabase could not load drizzle-kit; `npm install --save-dev drizzle-kit`?",
  );
}

const undefinedSchema = "3F000";
const undefinedObject = "42704";

function explained(error: unknown): unknown {
  const { code, message = "" } = databaseError(error);
  const [, name = ""] = /"([^"]+)"/.exec(message) ?? [];
  if (code === undefinedSchema) {
    const advice =
      "export the pgSchema itself from your Drizzle schema, beside its tables: drizzle-kit finds it only there";
    return new SchemaError(name, `schema "${name}" was not made: ${advice}`, error);
  }
  if (code === undefinedObject && /\brole\b/.test(message)) {
    const advice =
      "export the pgRole itself from your Drizzle schema, or make it in `before`, where it is an existing() one";
    return new SchemaError(name, `role "${name}" does not exist: ${advice}`, error);
  }
  return error;
}

/** What is called from inside a transaction of its client's; over when the transaction is. */
const transactions = new AsyncLocalStorage<{ client: PGlite; isOver: boolean }>();

/** What waits for the client's one connection. */
const waiting: ReadonlySet<unknown> = new Set(["query", "exec", "sql", "transaction", "listen", "describeQuery"]);

/**
 * A client that can be taken away, since a worker that was left running must not reach the next test's database; and that
 * refuses what would wait for ever: a statement outside of the transaction that it is sent from.
 */
function guarded(
  client: PGlite,
  { query, exec }: PreparedQuery,
): { proxy: PGlite; revoke(): boolean; wasListened(): boolean } {
  let isOpen = true;
  let isHeard = false;
  const transaction = <T>(run: (tx: Transaction) => Promise<T>): Promise<T> =>
    client.transaction(async (tx) => {
      const scope = { client, isOver: false };
      try {
        return await transactions.run(scope, run, tx);
      } finally {
        scope.isOver = true;
      }
    });
  const own: Partial<Record<string | symbol, unknown>> = { query, exec, transaction };
  const proxy = new Proxy(client, {
    get(target, name) {
      const value = own[name] ?? Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (name === "listen" || name === "onNotification") isHeard = true;
        if (!isOpen) throw new Error("this test database was closed");
        const scope = transactions.getStore();
        if (scope?.client === client && !scope.isOver && waiting.has(name)) throw new ConflictError(selfWait);
        return Reflect.apply(value, target, args);
      };
    },
  });
  const revoke = () => {
    const wasOpen = isOpen;
    isOpen = false;
    return wasOpen;
  };
  return { proxy, revoke, wasListened: () => isHeard };
}

const selfWait =
  "a statement was sent to the database from inside a transaction of it; use the transaction (`tx`): a test database has one connection, and would wait for itself";
