import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { WorkerEvent } from "../../src/worker/event.ts";
import { keepListening } from "../../src/worker/listener.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresServer } from "../postgres/server.ts";
import { job, pgqueue, rowOf } from "../queries/jobs.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

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
  ["a pool of node-postgres", { $client: { connect() {}, query() {} } }],
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
