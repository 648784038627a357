import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TimeoutError } from "../../src/errors.ts";
import type { JobSpec } from "../../src/tasks/spec.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresServer } from "../postgres/server.ts";
import { expire, job, pgqueue, rowOf } from "../queries/jobs.ts";
import { door } from "./door.ts";
import { heldLink, isUpdateOf } from "./held-link.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const rest = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));
const rowsOf = (enqueued: { id: number }[]) => Promise.all(enqueued.map(({ id }) => rowOf(database.db, id)));
const aborted = (signal: AbortSignal) =>
  new Promise<number>((resolve) => signal.addEventListener("abort", () => resolve(performance.now()), { once: true }));

describe("stop with a long task at work", () => {
  test("and twenty whose claim is not answered yet: they are pending again at once, uncharged; the long one gets the timeout, then its signal", async () => {
    const link = await heldLink(database);
    const spec = job({ pollInterval: "1h", finalizeBuffer: "10s" });
    const long = await pgqueue.enqueue(database.db, spec, "long");
    let firedAt = 0;
    let reason: unknown;
    const ran: unknown[] = [];
    const observed = await observe(link.db, { concurrency: 21 })
      .on(spec, async ({ payload }, { signal }) => {
        ran.push(payload);
        firedAt = await aborted(signal);
        reason = signal.reason;
      })
      .start();
    await until(() => ran.length === 1);

    link.hold(isUpdateOf(20));
    const waiting = await pgqueue.enqueueMany(database.db, spec, items(20));
    await until(() => link.held > 0);
    expect((await rowsOf(waiting)).map(({ status }) => status)).toEqual(Array(20).fill("running"));

    const stoppedAt = performance.now();
    const stopped = observed.worker.stop({ timeout: 2_000 });
    link.release();
    await until(async () => (await rowsOf(waiting)).every(({ status }) => status === "pending"), 1_800);
    expect(firedAt).toBe(0);
    for (const row of await rowsOf(waiting)) {
      expect(row).toMatchObject({ attempt: 0, claimToken: null, errors: null, claims: 1 });
    }
    await stopped;
    expect(ran).toEqual(["long"]);
    expect(firedAt - stoppedAt).toBeGreaterThanOrEqual(1_999);
    expect(performance.now() - stoppedAt).toBeLessThan(6_000);
    expect(reason).toBeInstanceOf(TimeoutError);
    expect(await rowOf(database.db, long.id)).toMatchObject({ status: "completed" });
    await link.end();
  });

  test("and suspects that wait for their turn: they are pending, uncharged, and stay so", async () => {
    const spec = job({ retryDelay: 0, pollInterval: "1h" });
    const suspects = await pgqueue.enqueueMany(database.db, spec, items(6));
    await pgqueue.claim(database.db, spec, { limit: 6 });
    await expire(database.db, ...suspects.map(({ id }) => id));
    await pgqueue.reap(database.db, spec);
    const pending = async () => (await rowsOf(suspects)).filter(({ status }) => status === "pending");
    let working = 0;
    const { opened, open } = door();
    const observed = await observe(database.db)
      .on(spec, () => {
        working++;
        return opened;
      })
      .start();
    await until(() => working === 1);

    const stopped = observed.worker.stop({ timeout: "10s" });
    open();
    await stopped;
    expect(working).toBe(1);
    for (const { attempt } of await pending()) expect(attempt).toBe(1);
    expect(await pending()).toHaveLength(5);
    expect((await rowsOf(suspects)).filter(({ status }) => status === "completed")).toHaveLength(1);
  });

  test("that ignores its signal: it keeps its lease and is reported, and stop returns", async () => {
    const spec = job({ finalizeBuffer: 100 });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const { opened, open } = door();
    const begun = door();
    const observed = await observe(database.db, { tolerate: ["abandoned"] })
      .on(spec, () => {
        begun.open();
        return opened;
      })
      .start();
    await begun.opened;
    const began = performance.now();
    await observed.worker.stop({ timeout: 100 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(199);
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(observed.events).toEqual([{ type: "abandoned", queue: spec.queue, taskId: id }]);
    expect(await rowOf(database.db, id)).toMatchObject({ status: "running", claimToken: expect.any(String) });
    // The caller may have ended the client since, so nothing is sent any more.
    open();
    await rest(50);
    expect(observed.events).toHaveLength(1);
    expect(await rowOf(database.db, id)).toMatchObject({ status: "running" });
  });

  test("that ends after stop gave up on it, and the client was ended: silence, and no timer left", async () => {
    const spec = job({ finalizeBuffer: 50 });
    await pgqueue.enqueue(database.db, spec, 1);
    const client = postgres(database.url, { max: 2, onnotice: () => {} });
    const { opened, open } = door();
    const begun = door();
    const observed = await observe(drizzle({ client }), { tolerate: ["abandoned"] })
      .on(spec, () => {
        begun.open();
        return opened;
      })
      .start();
    await begun.opened;
    await observed.worker.stop({ timeout: 0 });
    await client.end();
    open();
    await rest(200);
    expect(observed.events.map(({ type }) => type)).toEqual(["abandoned"]);
  });

  test("that ends in time: its outcome is written before stop resolves", async () => {
    const spec = job();
    const enqueued = await pgqueue.enqueueMany(database.db, spec, items(5));
    let working = 0;
    const observed = await observe(database.db)
      .on(spec, async () => {
        working++;
        await rest(100);
      })
      .start();
    await until(() => working === 5);
    await observed.worker.stop({ timeout: "10s" });
    expect((await rowsOf(enqueued)).map(({ status }) => status)).toEqual(Array(5).fill("completed"));
  });

  test("with no timeout: the signal fires at once", async () => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    let isFired = false;
    const begun = door();
    const observed = await observe(database.db)
      .on(spec, async (_, { signal }) => {
        begun.open();
        await aborted(signal);
        isFired = true;
        throw signal.reason;
      })
      .start();
    await begun.opened;
    await observed.worker.stop({ timeout: 0 });
    expect(isFired).toBe(true);
    expect(await rowOf(database.db, id)).toMatchObject({
      status: "pending",
      attempt: 1,
      errors: [{ name: "TimeoutError" }],
    });
  });
});

test("nothing is claimed after a stop, however much is enqueued", async () => {
  const spec = job({ pollInterval: 10 });
  const observed = await observe(database.db)
    .on(spec, () => {})
    .start();
  await observed.worker.stop();
  const { id } = await pgqueue.enqueue(database.db, spec, 1);
  await rest(100);
  expect(await rowOf(database.db, id)).toMatchObject({ status: "pending", claims: 0 });
});

test("a stopped worker sends nothing more and listens no more", async () => {
  const spec = job({ pollInterval: 10, leaseDuration: 300 });
  const own = await createDatabase({ migrated: true });
  const observed = await observe(own.db)
    .on(spec, () => {})
    .start();
  await observed.worker.stop();
  const sessions = () => own.client`
    select query, query_start from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() order by pid`;
  await rest(50);
  const before = await sessions();
  expect(before.map(({ query }) => query)).not.toContainEqual(expect.stringMatching(/^listen/));
  await rest(400);
  expect(await sessions()).toEqual(before);
  await own.end();
});

describe("stop while the database is down", () => {
  const spec: JobSpec = job({ pollInterval: 20, finalizeBuffer: 100 });

  test("ends in bounded time, at work or not", async () => {
    const server = await PostgresServer.create();
    const own = await createDatabase({ server: server.url, migrated: true, client: { fetch_types: false } });
    const idle = await observe(own.db, { tolerate: ["error"] })
      .on(job({ queue: "idle", finalizeBuffer: 100 }), () => {})
      .start();
    const { opened, open } = door();
    const begun = door();
    const busy = await observe(own.db, { tolerate: ["error", "abandoned"] })
      .on(spec, () => {
        begun.open();
        return opened;
      })
      .start();
    const { id } = await pgqueue.enqueue(own.db, spec, 1);
    await begun.opened;
    await server.stop();
    open();
    await until(() => busy.of("error").some(({ during }) => during === "settle"));
    const starting = observe(own.db, { tolerate: ["error"] }).on(job(), () => {});
    const running = starting.worker.run();
    await starting.seen("error");

    const began = performance.now();
    await Promise.all([idle, busy, starting].map(({ worker }) => worker.stop({ timeout: 200 })));
    await running;
    expect(performance.now() - began).toBeLessThan(5_000);
    // Its outcome could not be written.
    expect(busy.of("abandoned")).toEqual([{ type: "abandoned", queue: spec.queue, taskId: id }]);
    await own.client.end({ timeout: 0 });
    await server.destroy();
  });
});
