import { existsSync } from "node:fs";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { postgresMajors, whyMissing } from "./binaries.ts";
import { createDatabase, databaseUrl, type TestDatabase } from "./database.ts";
import { isCommitReply, PostgresProxy } from "./proxy.ts";
import { PostgresServer } from "./server.ts";

const eventually = (assertion: () => Promise<void>): Promise<void> => vi.waitFor(assertion, { timeout: 15_000 });

/** How many sessions of the database are or were last busy with a query. */
const sessions = async (client: postgres.Sql, query: string): Promise<number> => {
  const rows = await client`
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE ${`${query}%`} AND pid <> pg_backend_pid()`;
  return rows.length;
};

const exists = async (client: postgres.Sql, database: string): Promise<boolean> =>
  (await client`SELECT 1 FROM pg_database WHERE datname = ${database}`).length === 1;

describe("a database per test file", () => {
  test("sees nothing of another one", async () => {
    const one = await createDatabase();
    const two = await createDatabase();
    await one.client`CREATE TABLE things (id int)`;
    await one.client`INSERT INTO things VALUES (1)`;

    expect(await one.db.execute(sql`SELECT id FROM things`)).toEqual([{ id: 1 }]);
    await expect(two.client`SELECT id FROM things`).rejects.toThrow('relation "things" does not exist');
    await one.end();
    await two.end();
  });

  test("is empty until it is migrated", async () => {
    const tables = (database: TestDatabase) =>
      database.client`SELECT tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`;
    const empty = await createDatabase();
    expect(await tables(empty)).toEqual([]);
    await empty.migrate();
    const made = await tables(empty);
    expect(made.length).toBeGreaterThan(0);

    const copy = await createDatabase({ migrated: true });
    expect(new Set((await tables(copy)).map((row) => row.tablename))).toEqual(
      new Set(made.map((row) => row.tablename)),
    );
    await copy.migrate();
    await empty.end();
    await copy.end();
  });

  test("is copied from the template by many at once", async () => {
    const databases = await Promise.all(Array.from({ length: 8 }, () => createDatabase({ migrated: true })));
    expect(new Set(databases.map(({ name }) => name)).size).toBe(8);
    await Promise.all(databases.map((database) => database.end()));
  });

  test("is dropped at the end although others are connected", async () => {
    const database = await createDatabase();
    const other = postgres(database.url, { max: 1 });
    const severed = other`SELECT pg_sleep(60)`.then(
      () => "finished",
      () => "severed",
    );
    await eventually(async () => {
      expect(await sessions(database.client, "SELECT pg_sleep")).toBe(1);
    });
    await database.end();

    expect(await severed).toBe("severed");
    await other.end({ timeout: 0 });
    const admin = postgres(inject("postgresUrl"), { max: 1 });
    expect(await exists(admin, database.name)).toBe(false);
    await admin.end();
  });
});

describe("a private server", () => {
  let server: PostgresServer;
  let database: TestDatabase;

  beforeAll(async () => {
    server = await PostgresServer.create({ settings: { work_mem: "5MB" } });
    database = await createDatabase({ server: server.url });
    await database.client`CREATE TABLE things (id int)`;
  });
  afterAll(async () => {
    await database.client.end({ timeout: 0 });
    await server.destroy();
  });

  const countThings = async (): Promise<number> => {
    const client = postgres(database.url, { max: 1 });
    const rows = await client`SELECT * FROM things`;
    await client.end();
    return rows.length;
  };

  test("keeps writes durable and takes settings", async () => {
    const [row] = await database.client`
      SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
        current_setting('max_connections') AS connections, current_setting('work_mem') AS memory,
        current_setting('server_version_num')::int / 10000 AS version`;
    expect(row).toEqual({ fsync: "on", commit: "on", connections: "300", memory: "5MB", version: 18 });
  });

  test("keeps its data and its address over a restart", async () => {
    const { url, pid } = server;
    const before = await countThings();
    await database.client`INSERT INTO things VALUES (1)`;
    await server.restart();

    expect(server.url).toBe(url);
    expect(server.pid).not.toBe(pid);
    expect(await countThings()).toBe(before + 1);
  });

  test("recovers after a crash with what was committed, and nothing else", async () => {
    const before = await countThings();
    await database.client`INSERT INTO things VALUES (2)`;
    const open = postgres(database.url, { max: 1 });
    const connection = await open.reserve();
    await connection`BEGIN`;
    await connection`INSERT INTO things VALUES (3)`;
    await server.crash();

    expect(server.log).toContain("database system was not properly shut down; automatic recovery in progress");
    expect(await countThings()).toBe(before + 1);
    await open.end({ timeout: 0 });
  });

  test("can start at once after a kill, whatever its backends were doing", async () => {
    const client = postgres(database.url, { max: 1 });
    const busy = client`SELECT count(*) FROM generate_series(1, 5000000)`.then(
      () => "finished",
      () => "severed",
    );
    await eventually(async () => {
      expect(await sessions(database.client, "SELECT count(*) FROM generate_series")).toBe(1);
    });
    await server.kill();

    expect(await busy).toMatch(/finished|severed/);
    // Postgres would refuse to start next to a backend that is left over.
    await server.start();
    expect(await countThings()).toBeGreaterThan(0);
    await client.end({ timeout: 0 });
  });

  test("refuses connections while it is stopped", async () => {
    await server.stop();
    expect(server.pid).toBeUndefined();
    await expect(countThings()).rejects.toThrow("ECONNREFUSED");
    await server.start();
    expect(await countThings()).toBeGreaterThan(0);
  });

  test("removes its folder when it is destroyed", async () => {
    const other = await PostgresServer.create();
    expect(existsSync(other.folder)).toBe(true);
    await other.destroy();
    expect(existsSync(other.folder)).toBe(false);
  });
});

test.for(postgresMajors)("a server of Postgres %s starts and is migrated", async (major, { skip }) => {
  const reason = whyMissing(major);
  if (reason) skip(reason);
  const server = await PostgresServer.create({ major });
  const database = await createDatabase({ server: server.url, migrated: true });
  const [row] = await database.client`SELECT current_setting('server_version_num')::int / 10000 AS version`;
  expect(row).toEqual({ version: Number(major) });
  await database.end();
  await server.destroy();
});

describe("the proxy", () => {
  let database: TestDatabase;
  let proxy: PostgresProxy;
  let client: postgres.Sql;

  beforeAll(async () => {
    database = await createDatabase();
    await database.client`CREATE TABLE things (id int)`;
    proxy = await PostgresProxy.create(inject("postgresUrl"));
  });
  beforeEach(() => {
    client = postgres(proxy.url(database.name), { max: 1, backoff: () => 0 });
  });
  afterEach(async () => {
    await client.end({ timeout: 0 });
    proxy.pass();
    proxy.cut();
    await database.client`DELETE FROM things`;
  });
  afterAll(async () => {
    await proxy.close();
    await database.end();
  });

  test("passes everything on and counts connections", async () => {
    expect(await client`SELECT 1 AS one`).toEqual([{ one: 1 }]);
    expect(proxy.connections).toBe(1);

    const large = "x".repeat(3_000_000);
    const [row] = await client`SELECT length(${large}::text) AS length, ${large}::text AS text`;
    expect(row!.length).toBe(large.length);
    expect(row!.text === large).toBe(true);
  });

  test("tells the server when a client leaves", async () => {
    const leaving = postgres(proxy.url(database.name), { max: 1 });
    await leaving`SELECT 'through the proxy'`;
    expect(await sessions(database.client, "SELECT 'through the proxy'")).toBe(1);
    await leaving.end();
    await eventually(async () => expect(await sessions(database.client, "SELECT 'through the proxy'")).toBe(0));
  });

  test("breaks connections when cut, and lets the client back in", async () => {
    await client`SELECT 1`;
    const pending = client`SELECT pg_sleep(60)`;
    const failure = expect(pending).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
    await eventually(async () => {
      expect(await sessions(database.client, "SELECT pg_sleep")).toBe(1);
    });
    proxy.cut();
    await failure;
    expect(await client`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  });

  test("as a blackhole leaves client and server waiting for each other", async () => {
    const lost = postgres(proxy.url(database.name), { max: 1 });
    const connection = await lost.reserve();
    await connection`SELECT 'through the proxy'`;
    proxy.blackhole();
    let settled = false;
    const answer = connection`INSERT INTO things VALUES (1)`
      .catch(() => {})
      .finally(() => {
        settled = true;
      });
    // The server answers others meanwhile, with nothing to tell of the insert.
    expect(await database.client`SELECT * FROM things`).toHaveLength(0);
    expect(settled).toBe(false);
    await lost.end({ timeout: 0 });
    await answer;

    // The client gave up, but the server has not heard: it still holds the session open.
    expect(await sessions(database.client, "SELECT 'through the proxy'")).toBe(1);
    expect(await database.client`SELECT * FROM things`).toHaveLength(0);
    proxy.cut();
    await eventually(async () => expect(await sessions(database.client, "SELECT 'through the proxy'")).toBe(0));
  });

  test("passes again after a blackhole, for new connections", async () => {
    const old = postgres(proxy.url(database.name), { max: 1, connect_timeout: 1 });
    await old`SELECT 'through the proxy'`;
    proxy.blackhole();
    const swallowed = old`SELECT 1`.catch((error: Error) => error);
    await expect(postgres(proxy.url(database.name), { max: 1, connect_timeout: 1 })`SELECT 1`).rejects.toMatchObject({
      code: "CONNECT_TIMEOUT",
    });
    proxy.pass();

    const fresh = postgres(proxy.url(database.name), { max: 1 });
    expect(await fresh`SELECT 1 AS one`).toEqual([{ one: 1 }]);
    await fresh.end();
    await old.end({ timeout: 0 });
    expect(await swallowed).toBeInstanceOf(Error);
  });

  test("drops the reply to a commit that took place", async () => {
    await client`SELECT 1`;
    proxy.dropReplies(isCommitReply, { times: 1 });
    const insert = (id: number) => client.begin((tx) => tx`INSERT INTO things VALUES (${id})`);
    await expect(insert(1)).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(await database.client`SELECT id FROM things`).toEqual([{ id: 1 }]);

    await insert(2);
    expect(await database.client`SELECT id FROM things ORDER BY id`).toEqual([{ id: 1 }, { id: 2 }]);
  });

  test("drops the reply to a statement that commits by itself", async () => {
    proxy.dropReplies((reply) => reply.includes("INSERT 0 1\0"));
    await expect(client`INSERT INTO things VALUES (1)`).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(await database.client`SELECT id FROM things`).toEqual([{ id: 1 }]);
  });

  test("reaches any database of the server", async () => {
    const other = await createDatabase();
    const direct = postgres(proxy.url(other.name), { max: 1 });
    expect(await direct`SELECT current_database() AS name`).toEqual([{ name: other.name }]);
    expect(databaseUrl(inject("postgresUrl"), other.name)).toBe(other.url);
    await direct.end();
    await other.end();
  });
});
