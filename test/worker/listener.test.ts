import { drizzle as overPoolOf } from "drizzle-orm/node-postgres";
import { drizzle } from "drizzle-orm/postgres-js";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { WorkerEvent } from "../../src/worker/event.ts";
import { keepListening } from "../../src/worker/listener.ts";
import { afterClosings } from "../../src/worker/turn.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresServer } from "../postgres/server.ts";
import { job, pgqueue, rowOf } from "../queries/jobs.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const overPool = (client: pg.Pool) => overPoolOf({ client });

/** A listener on a database handle, what it hears, and what ends it. */
function listenerOn(db: object) {
  const heard: string[] = [];
  const events: WorkerEvent[] = [];
  const onSilence = vi.fn();
  const closing = new AbortController();
  const host = {
    db: db as never,
    pgqueue,
    workerId: "w",
    closing: closing.signal,
    closed: closing.signal,
    nextTurn: afterClosings,
    report: (event: WorkerEvent) => void events.push(event),
  };
  const ended = keepListening(host, { onQueue: (queue) => heard.push(queue), onSilence });
  const stop = () => {
    closing.abort();
    return ended;
  };
  return { heard, events, onSilence, ended, stop };
}

test("hears the queue that has work, until the worker closes", async () => {
  const { heard, onSilence, stop } = listenerOn(database.db);
  await until(() => onSilence.mock.calls.length === 1);
  await database.client`select pg_notify('pgqueue', 'mail'), pg_notify('other', 'x')`;
  await until(() => heard.length === 1);
  expect(heard).toEqual(["mail"]);
  await stop();
  const other = listenerOn(database.db);
  await until(() => other.onSilence.mock.calls.length === 1);
  await database.client`select pg_notify('pgqueue', 'mail')`;
  await until(() => other.heard.length === 1);
  await other.stop();
  expect(heard).toEqual(["mail"]);
});

test("listens on the primary of replicas", async () => {
  const $client = { listen: vi.fn(async () => ({ unlisten: async () => {} })) };
  const replica = { listen: vi.fn() };
  await listenerOn({ $primary: { $client }, $client: replica }).stop();
  expect($client.listen).toHaveBeenCalledOnce();
  expect(replica.listen).not.toHaveBeenCalled();
});

test.each([
  ["a single client of node-postgres", { $client: { connect() {}, query() {} } }],
  ["a handle without a client", {}],
  ["an HTTP driver", { $client: () => {} }],
])("leaves %s to polling", async (_, db) => {
  const { events, ended } = listenerOn(db);
  await ended;
  expect(events).toEqual([]);
});

test("a failure to listen is told, and it is tried again", async () => {
  let tries = 0;
  const listen = async () => {
    if (++tries === 1) throw new Error("no channel");
    return { unlisten: async () => {} };
  };
  const { events, stop } = listenerOn({ $client: { listen } });
  await until(() => tries === 2);
  await stop();
  expect(events).toEqual([{ type: "error", during: "listen", error: new Error("no channel") }]);
});

describe("on a pool of node-postgres", () => {
  const poolOf = (url: string, config: pg.PoolConfig = {}) => {
    const pool = new pg.Pool({ connectionString: url, ...config });
    pool.on("error", () => {});
    return pool;
  };

  test("hears over a connection beside the pool, which may be taken to the last", async () => {
    const pool = poolOf(database.url, { max: 1 });
    const taken = await pool.connect();
    const { heard, onSilence, stop } = listenerOn(overPool(pool));
    await until(() => onSilence.mock.calls.length === 1);
    await database.client`select pg_notify('pgqueue', 'mail'), pg_notify('other', 'x')`;
    await until(() => heard.length === 1);
    expect(heard).toEqual(["mail"]);
    await stop();
    taken.release();
    await pool.end();
    await until(async () => (await listening(database)) === 0);
  });

  test("connects as the pool does, password and all", async () => {
    const { hostname, port, username, password, pathname } = new URL(database.url);
    const pool = poolOf("", {
      host: hostname,
      port: Number(port),
      user: username,
      password: async () => password,
      database: pathname.slice(1),
    });
    const { events, onSilence, stop } = listenerOn(overPool(pool));
    await until(() => onSilence.mock.calls.length === 1);
    await stop();
    expect(events).toEqual([]);
    await pool.end();
  });

  test("listens again when its connection is cut, and says that announcements may have been missed", async () => {
    const pool = poolOf(database.url);
    const { heard, events, onSilence, stop } = listenerOn(overPool(pool));
    for (const round of [1, 2, 3]) {
      await until(() => onSilence.mock.calls.length === round);
      await database.client`select pg_notify('pgqueue', ${String(round)})`;
      await until(() => heard.length === round);
      await database.client`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query = 'listen pgqueue'`;
    }
    await until(() => onSilence.mock.calls.length === 4);
    await stop();
    expect(heard).toEqual(["1", "2", "3"]);
    expect(events.map(({ type }) => type)).toEqual(["error", "error", "error"]);
    await pool.end();
  });

  test("wakes a worker at once, again after the server was away", { timeout: 60_000 }, async () => {
    const server = await PostgresServer.create();
    const own = await createDatabase({ server: server.url, migrated: true, client: { fetch_types: false } });
    const pool = poolOf(own.url);
    const spec = job({ pollInterval: "1h" });
    const observed = await observe(overPool(pool), { tolerate: ["error"], reapInterval: "1h" })
      .on(spec, () => {})
      .start();
    await pgqueue.enqueue(overPool(pool), spec, 1);
    await observed.seen("settled", 1);
    await server.stop();
    await server.start();
    await until(() => pgqueue.enqueue(overPool(pool), spec, 2).catch(() => undefined));
    await observed.seen("settled", 2, 20_000);
    await until(
      async () => (await pool.query("select 1 from pg_stat_activity where query = 'listen pgqueue'")).rowCount === 1,
    );
    await pgqueue.enqueue(overPool(pool), spec, 3);
    await observed.seen("settled", 3, 5_000);
    await observed.worker.stop();
    await pool.end();
    await own.client.end({ timeout: 0 });
    await server.destroy();
  });
});

test("a server that never answers does not keep it from ending", async () => {
  await listenerOn({ $client: { listen: () => new Promise(() => {}) } }).stop();
});

describe("when the server was down for seconds", () => {
  const never = "1h";

  test("announcements are heard again, and what was missed is found, without polling", {
    timeout: 60_000,
  }, async () => {
    const server = await PostgresServer.create();
    const own = await createDatabase({ server: server.url, migrated: true, client: { fetch_types: false } });
    const producer = postgres(own.url, { max: 1, fetch_types: false, onnotice: () => {}, backoff: () => 0.05 });
    const db = drizzle(producer);
    const spec = job({ pollInterval: never });
    const observed = await observe(own.db, { tolerate: ["error"], reapInterval: never })
      .on(spec, () => {})
      .start();
    await pgqueue.enqueue(db, spec, 1);
    await observed.seen("settled", 1);

    for (const [round, away] of [300, 4_000].entries()) {
      await (round === 0 ? server.kill() : server.stop());
      await new Promise((resolve) => setTimeout(resolve, away));
      await server.start();
      // Enqueued before anybody listens again, most likely.
      await until(() => pgqueue.enqueue(db, spec, 2).catch(() => undefined));
      await observed.seen("settled", 2 + round * 2, 20_000);
      const before = await listening(own);
      expect(before).toBe(1);
      const { id } = await pgqueue.enqueue(db, spec, 3);
      await observed.seen("settled", 3 + round * 2, 5_000);
      expect((await rowOf(db, id)).status).toBe("completed");
    }
    await observed.worker.stop();
    await producer.end({ timeout: 0 });
    await own.client.end({ timeout: 0 });
    await server.destroy();
  });
});

async function listening({ client }: TestDatabase): Promise<number> {
  const rows =
    await client`select 1 from pg_stat_activity where query ilike 'listen%' and datname = current_database()`;
  return rows.length;
}
