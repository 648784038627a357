import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { WorkerEvent } from "../../src/worker/event.ts";
import { listen } from "../../src/worker/listener.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresServer } from "../postgres/server.ts";
import { job, pgqueue, rowOf } from "../queries/jobs.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

function hostOf(db: object) {
  const events: WorkerEvent[] = [];
  const host = {
    db: db as never,
    pgqueue,
    workerId: "w",
    closing: new AbortController().signal,
    report: (event: WorkerEvent) => void events.push(event),
  };
  return { host, events };
}

test("hears the queue that has work, until it is ended", async () => {
  const heard: string[] = [];
  const onSilence = vi.fn();
  const { host } = hostOf(database.db);
  const stop = await listen(host, { onQueue: (queue) => heard.push(queue), onSilence });
  expect(onSilence).toHaveBeenCalledOnce();
  await database.client`select pg_notify('pgqueue', 'mail'), pg_notify('other', 'x')`;
  await until(() => heard.length === 1);
  expect(heard).toEqual(["mail"]);
  await stop();
  await database.client`select pg_notify('pgqueue', 'mail')`;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(heard).toEqual(["mail"]);
});

test("listens on the primary of replicas", async () => {
  const $client = { listen: vi.fn(async () => ({ unlisten: async () => {} })) };
  const replica = { listen: vi.fn() };
  await listen(hostOf({ $primary: { $client }, $client: replica }).host, { onQueue: () => {}, onSilence: () => {} });
  expect($client.listen).toHaveBeenCalledOnce();
  expect(replica.listen).not.toHaveBeenCalled();
});

test.each([
  ["a pool of node-postgres", { $client: { connect() {}, query() {} } }],
  ["a handle without a client", {}],
  ["an HTTP driver", { $client: () => {} }],
])("leaves %s to polling", async (_, db) => {
  const { host, events } = hostOf(db);
  await (await listen(host, { onQueue: () => {}, onSilence: () => {} }))();
  expect(events).toEqual([]);
});

test("a failure to listen is told, and no more than that", async () => {
  const { host, events } = hostOf({ $client: { listen: () => Promise.reject(new Error("no channel")) } });
  await (await listen(host, { onQueue: () => {}, onSilence: () => {} }))();
  expect(events).toEqual([{ type: "error", during: "listen", error: new Error("no channel") }]);
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
      const sent = performance.now();
      const { id } = await pgqueue.enqueue(db, spec, 3);
      await observed.seen("settled", 3 + round * 2, 1_000);
      expect(performance.now() - sent).toBeLessThan(1_000);
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
