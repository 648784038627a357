import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresServer } from "../postgres/server.ts";
import { until } from "../worker/observed.ts";
import { Fleet } from "./fleet.ts";
import { audit, createLedger } from "./ledger.ts";
import { pgqueue, type Work, workSpec } from "./work.ts";

let server: PostgresServer;
let database: TestDatabase;

beforeAll(async () => {
  server = await PostgresServer.create();
  database = await createDatabase({
    server: server.url,
    migrated: true,
    // By default postgres.js waits up to 20 s between its tries to connect.
    client: { fetch_types: false, backoff: () => 0.1 },
  });
  await createLedger(database.client);
});
afterAll(async () => {
  await database.client.end({ timeout: 0 });
  await server.destroy();
});

const rest = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe("the server under busy workers", () => {
  test.each<[string, () => Promise<void>]>([
    ["is restarted", () => server.restart()],
    ["crashes", () => server.crash()],
    [
      "is away for seconds",
      async () => {
        await server.stop();
        await rest(2_000);
        await server.start();
      },
    ],
  ])("%s: no task is lost, and the same processes go on", { timeout: 60_000 }, async (name, disturb) => {
    const work = { queue: name, leaseDuration: 1_500, pollInterval: 100 };
    const spec = workSpec(work);
    const fleet = new Fleet({ url: database.url, work, name });
    const members = await fleet.startMany(2);
    const enqueue = (count: number) =>
      pgqueue.enqueueMany(
        database.db,
        spec,
        Array.from({ length: count }, (_, i) => ({
          payload: { kind: i % 5 ? "ok" : "transactional", takes: i % 30 } as Work,
        })),
      );
    const completed = async () => {
      const rows = await database.client`
        select count(*)::int as count from pgqueue_tasks where queue = ${name} and status = 'completed'`.catch(
        () => [],
      );
      return rows[0]?.count ?? 0;
    };
    await enqueue(800);
    await until(async () => (await completed()) > 50);
    await disturb();
    await until(async () => (await completed()) === 800, 40_000);

    // As quick as ever: what is enqueued now does not wait for anything that the outage left behind.
    await rest(500);
    const began = performance.now();
    await until(() => enqueue(1).catch(() => undefined));
    await until(async () => (await completed()) === 801);
    expect(performance.now() - began).toBeLessThan(3_000);

    expect(fleet.members).toEqual(new Set(members));
    expect(fleet.count("error")).toBeGreaterThan(0);
    await fleet.close();
    for (const [process, ended] of fleet.gone) {
      await database.client`insert into processes values (${process}, ${ended})`;
    }
    expect(await audit(database.client, { queue: name, lost: fleet.lost })).toEqual([]);
    expect(fleet.complaints).toEqual([]);
  });
});
