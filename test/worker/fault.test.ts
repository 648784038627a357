import { PGlite } from "@electric-sql/pglite";
import { DrizzleQueryError, sql } from "drizzle-orm";
import { drizzle as drizzlePglite } from "drizzle-orm/pglite";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { isConflict, isCut, isOutage, isRefusal, isTimeout, isUniqueViolation } from "../../src/worker/fault.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresProxy } from "../postgres/proxy.ts";
import { begin } from "../queries/transactions.ts";
import { until } from "./observed.ts";

const verdict = (error: unknown) => ({
  conflict: isConflict(error),
  unique: isUniqueViolation(error),
  outage: isOutage(error),
  cut: isCut(error),
});
const nothing = { conflict: false, unique: false, outage: false, cut: false };
const unique = { ...nothing, unique: true };
const conflict = { ...nothing, conflict: true };
const outage = { ...nothing, outage: true };
/** Lost on its way: it may have been committed. */
const cut = { ...outage, cut: true };

const failureOf = (run: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(run).then(
    () => "it did not fail",
    (error: unknown) => error,
  );

describe("on postgres-js", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
    await database.client`create table things (id int primary key, n int)`;
    await database.client`insert into things values (1, 0), (2, 0)`;
  });
  afterAll(() => database.end());

  const through = (url: string) => {
    const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 1 });
    return { client, db: drizzle(client) };
  };

  test("a unique violation", async () => {
    expect(verdict(await failureOf(database.db.execute(sql`insert into things values (1)`)))).toEqual(unique);
  });

  test("a serialization failure", async () => {
    const one = await begin(database.db, { isolationLevel: "repeatable read" });
    await one.tx.execute(sql`select * from things`);
    await database.client`update things set n = n + 1 where id = 1`;
    expect(verdict(await failureOf(one.tx.execute(sql`update things set n = 9 where id = 1`)))).toEqual(conflict);
    await one.rollback();
  });

  test("a deadlock", async () => {
    const [one, two] = [await begin(database.db), await begin(database.db)];
    const lock = (id: number) => sql`select 1 from things where id = ${id} for update`;
    await one.tx.execute(lock(1));
    await two.tx.execute(lock(2));
    const answers = await Promise.allSettled([one.tx.execute(lock(2)), two.tx.execute(lock(1))]);
    const [refused] = answers.filter((answer) => answer.status === "rejected");
    expect(verdict(refused!.reason)).toEqual(conflict);
    await Promise.allSettled([one.rollback(), two.rollback()]);
  });

  test("a statement that took too long, and one in a read-only transaction", async () => {
    const slow = database.db.transaction(async (tx) => {
      await tx.execute(sql`set local statement_timeout = 20`);
      await tx.execute(sql`select pg_sleep(10)`);
    });
    expect(verdict(await failureOf(slow))).toEqual(outage);
    const readOnly = database.db.transaction((tx) => tx.execute(sql`delete from things`), { accessMode: "read only" });
    expect(verdict(await failureOf(readOnly))).toEqual(outage);
  });

  test("a session that an administrator ends", async () => {
    const { client, db } = through(database.url);
    const [row] = await client`select pg_backend_pid() as pid`;
    const sleeping = failureOf(db.execute(sql`select pg_sleep(10)`));
    await until(
      async () =>
        (await database.client`select 1 from pg_stat_activity where query like '%pg_sleep(10)' and pid = ${row!.pid}`)
          .length,
    );
    await database.client`select pg_terminate_backend(${row!.pid})`;
    expect(verdict(await sleeping)).toEqual(cut);
    await client.end({ timeout: 0 });
  });

  test("a connection cut while the answer is awaited", async () => {
    const proxy = await PostgresProxy.create(inject("postgresUrl"));
    const { client, db } = through(proxy.url(database.name));
    await client`select 1`;
    const sleeping = failureOf(db.execute(sql`select pg_sleep(10) as cut`));
    await until(
      async () =>
        (await database.client`select 1 from pg_stat_activity where query = 'select pg_sleep(10) as cut'`).length,
    );
    proxy.cut();
    expect(verdict(await sleeping)).toEqual(cut);
    await client.end({ timeout: 0 });
    await proxy.close();
  });

  test("a connection that never came about has committed nothing", async () => {
    const proxy = await PostgresProxy.create(inject("postgresUrl"));
    const url = proxy.url(database.name);
    proxy.blackhole();
    const silent = through(url);
    expect(verdict(await failureOf(silent.db.execute(sql`select 1`)))).toEqual(outage);
    await silent.client.end({ timeout: 0 });
    await proxy.close();
    const refused = through(url);
    expect(verdict(await failureOf(refused.db.execute(sql`select 1`)))).toEqual(outage);
    await refused.client.end({ timeout: 0 });
  });

  test("a client that was ended", async () => {
    const { client, db } = through(database.url);
    await client`select 1`;
    await client.end();
    expect(isOutage(await failureOf(db.execute(sql`select 1`)))).toBe(true);
  });

  test("an ordinary mistake", async () => {
    for (const mistake of ["select nothing", "select * from nowhere", "selec", "select 1/0", "select 'x'::int"]) {
      expect(verdict(await failureOf(database.db.execute(sql.raw(mistake))))).toEqual(nothing);
    }
  });
});

test("PGlite's errors", async () => {
  const client = await PGlite.create();
  const db = drizzlePglite({ client });
  await db.execute(sql`create table things (id int primary key)`);
  await db.execute(sql`insert into things values (1)`);
  expect(verdict(await failureOf(db.execute(sql`insert into things values (1)`)))).toEqual(unique);
  expect(verdict(await failureOf(db.execute(sql`select nothing`)))).toEqual(nothing);
  await client.close();
});

// What node-postgres throws, as its sources and a server of version 18 make it.
describe("errors of node-postgres", () => {
  const coded = (code: string, message = "failed") => Object.assign(new Error(message), { code });
  const wrapped = (error: Error) => new DrizzleQueryError("update", [], error);

  test.each<[string, Error, object]>([
    ["deadlock", coded("40P01"), conflict],
    ["serialization failure", coded("40001"), conflict],
    ["unique violation", coded("23505"), unique],
    ["a lock that was not to be had in time", coded("55P03"), outage],
    ["too many connections", coded("53300"), outage],
    ["the server goes down", coded("57P01"), cut],
    ["the server crashed", coded("57P02"), cut],
    ["the server comes up", coded("57P03"), outage],
    ["connection failure", coded("08006"), cut],
    ["a socket that was reset", coded("ECONNRESET", "read ECONNRESET"), cut],
    ["a socket that the other side closed", coded("EPIPE", "write EPIPE"), cut],
    ["a silent socket", coded("ETIMEDOUT", "read ETIMEDOUT"), cut],
    ["nobody listens", coded("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:1"), outage],
    ["no such host", coded("ENOTFOUND", "getaddrinfo ENOTFOUND db"), outage],
    ["a name server that is away", coded("EAI_AGAIN"), outage],
    ["the socket closed", new Error("Connection terminated unexpectedly"), cut],
    ["query_timeout of node-postgres", new Error("Query read timeout"), cut],
    ["a broken client", new Error("Client has encountered a connection error and is not queryable"), cut],
    ["the pool gave up", new Error("timeout exceeded when trying to connect"), outage],
    ["a client that connects too long", new Error("Connection terminated due to connection timeout"), outage],
    ["check violation", coded("23514"), nothing],
    ["undefined table", coded("42P01"), nothing],
    ["no permission", coded("42501"), nothing],
  ])("%s", (_, error, expected) => {
    expect(verdict(error)).toEqual(expected);
    expect(verdict(wrapped(error))).toEqual(expected);
    expect(verdict(new Error("outer", { cause: wrapped(error) }))).toEqual(expected);
  });

  test("nobody listens on any of the addresses", () => {
    const refused = new AggregateError([coded("ECONNREFUSED"), coded("ECONNREFUSED")], "");
    expect(verdict(wrapped(refused))).toEqual(outage);
    expect(verdict(wrapped(Object.assign(refused, { code: "ECONNREFUSED" })))).toEqual(outage);
  });
});

// As Bun 1.4 throws them, without a SQLSTATE.
test.each<[string, object]>([
  ["ERR_POSTGRES_CONNECTION_CLOSED", cut],
  ["ERR_POSTGRES_IDLE_TIMEOUT", cut],
  ["ERR_POSTGRES_LIFETIME_TIMEOUT", cut],
  ["ERR_POSTGRES_CONNECTION_REFUSED", outage],
  ["ERR_POSTGRES_CONNECTION_TIMEOUT", outage],
])("%s of Bun", (code, expected) => {
  const error = Object.assign(new Error("Connection closed"), { code });
  expect(verdict(error)).toEqual(expected);
  expect(verdict(new DrizzleQueryError("update", [], error))).toEqual(expected);
});

describe("whose fault it is", () => {
  const states = (codes: string, routine?: string) =>
    codes
      .split(" ")
      .map((code) => new DrizzleQueryError("update", [], Object.assign(new Error(code), { code, routine })));

  test("of the rows: a constraint's, a trigger's, or of what does not fit", () => {
    for (const error of states("22001 22P05 23502 23503 23505 23514 44000 54000 P0001 38000 AB123")) {
      expect(isRefusal(error), String(error.cause)).toBe(true);
    }
    for (const error of states("42501 25006 28000 XX001", "exec_stmt_raise").filter((one) => !isOutage(one))) {
      expect(isRefusal(error), String(error.cause)).toBe(true);
    }
    expect(isRefusal(new TypeError("no JSON"))).toBe(true);
  });

  test("of what surrounds them: of the session, the server, the tables, the rights, or the driver", () => {
    for (const error of states(
      "08006 0A000 25P04 26000 28000 28P01 3D000 3F000 40001 40P01 42501 42703 42P01 53200 55P03 57014 58030 F0000 XX000",
    )) {
      expect(isRefusal(error), String(error.cause)).toBe(false);
    }
    const unknown = Object.assign(new Error("too many open files"), { code: "EMFILE" });
    expect(isRefusal(new DrizzleQueryError("update", [], unknown))).toBe(false);
  });

  test("a statement took too long", () => {
    expect(states("57014").map(isTimeout)).toEqual([true]);
    expect(isTimeout(new Error("Query read timeout"))).toBe(true);
    expect(isTimeout(new Error("Connection terminated unexpectedly"))).toBe(false);
    expect(states("57P01 55P03 40001").some(isTimeout)).toBe(false);
  });
});

test("words of the user's say nothing", () => {
  const words = "the connection terminated; ECONNRESET; timeout exceeded when trying to connect";
  const refused = Object.assign(new Error(`refused: "${words}"`), { code: "23514" });
  expect(verdict(refused)).toEqual(nothing);
  expect(verdict(new DrizzleQueryError("update", [words], refused))).toEqual(nothing);
});

test.each([undefined, null, "CONNECTION_CLOSED", 42, {}, new Error("x"), { cause: { cause: null } }])(
  "%s says nothing",
  (thrown) => {
    expect(verdict(thrown)).toEqual(nothing);
  },
);
