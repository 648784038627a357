import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createWorker, OptionsError } from "../../src/index.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { claimNew, expire, job, pgqueue, rowOf, ticker } from "../queries/jobs.ts";
import { recorded } from "../queries/recorder.ts";
import { door } from "./door.ts";
import { observe, until } from "./observed.ts";

// Tables and handlers that do their worst.

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
  // Refuses what a payload asks it to, with the SQLSTATE that it names.
  await database.client.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin
      if new.status = new.payload->>'refuse' then
        raise exception 'not this one' using errcode = new.payload->>'code';
      end if;
      return new;
    end $$;
    create trigger refuse before update on pgqueue_tasks for each row execute function refuse();`);
});
afterAll(() => database.end());

describe("one outcome that the table refuses", () => {
  test.each(["23505", "23514", "P0001"])(
    "with %s is recorded, and the others of its batch are settled",
    async (code) => {
      const spec = job({ retryDelay: "1h", leaseDuration: "30s" });
      const payloads = [{ refuse: "completed", code }, ...Array(9).fill({})];
      const enqueued = await pgqueue.enqueueMany(
        database.db,
        spec,
        payloads.map((payload) => ({ payload })),
      );
      const observed = await observe(database.db, { tolerate: ["error"] })
        .on(spec, () => {})
        .start();
      await observed.seen("settled", 10, 10_000);
      const [bad, ...good] = await Promise.all(enqueued.map(({ id }) => rowOf(database.db, id)));
      expect(bad).toMatchObject({
        status: "pending",
        attempt: 1,
        errors: [{ message: expect.stringContaining("not this one") }],
      });
      for (const row of good) expect(row).toMatchObject({ status: "completed", claims: 1 });
    },
  );
});

test("to find the one outcome of many that the table refuses takes few statements", async () => {
  const spec = job({ retryDelay: "1h" });
  const payloads = Array.from({ length: 256 }, (_, n) => (n === 100 ? { refuse: "completed", code: "P0001" } : {}));
  await pgqueue.enqueueMany(
    database.db,
    spec,
    payloads.map((payload) => ({ payload })),
  );
  const { db, statements } = recorded(database);
  const { opened, open } = door();
  let begun = 0;
  const observed = await observe(db, { tolerate: ["error"], concurrency: 256, listen: false })
    .on(spec, () => {
      if (++begun === 256) open();
      return opened;
    })
    .start();
  await observed.seen("settled", 256);
  expect(statements.filter((text) => text.startsWith('with "held"')).length).toBeLessThan(40);
  expect(observed.of("settled").filter(({ result }) => result === "retry")).toHaveLength(1);
});

test.each(["23514", "57014", "55P03"])(
  "an expired row that the table refuses to have reaped with %s keeps no worker from starting",
  async (code) => {
    const spec = job();
    await pgqueue.enqueue(database.db, spec, { refuse: "pending", code });
    const [stuck] = await pgqueue.claim(database.db, spec, { limit: 1 });
    await expire(database.db, stuck!.id);
    const healthy = job();
    await pgqueue.enqueue(database.db, healthy, {});
    const observed = await observe(database.db, { tolerate: ["error"] })
      .on(spec, () => {})
      .on(healthy, () => {})
      .start();
    await observed.seen("settled");
    expect(observed.of("error")).toMatchObject([{ during: "reap", queue: spec.queue }]);
  },
);

test("a deaf handler whose task the same worker has again leaves the watcher its sight", async () => {
  const spec = job({ leaseDuration: 1_500, retryDelay: 0, pollInterval: 50 });
  const deaf = await pgqueue.enqueue(database.db, spec, 1);
  const { opened, open } = door();
  const begun = door();
  let runs = 0;
  let fired: unknown;
  await observe(database.db, { tolerate: ["lost"] })
    .on(spec, async ({ id }, { signal, extendLease }) => {
      runs++;
      if (id === deaf.id) return opened;
      await extendLease("1m");
      begun.open();
      await until(() => signal.aborted, 10_000);
      fired = signal.reason;
      throw signal.reason;
    })
    .start();
  await until(() => runs === 2, 10_000);
  const other = await pgqueue.enqueue(database.db, spec, 2);
  await begun.opened;
  await pgqueue.disable(database.db, other.id);
  await until(() => fired !== undefined, 10_000);
  expect(fired).toMatchObject({ name: "StaleClaimError" });
  open();
});

test("two extensions of a lease at once both succeed", async () => {
  const spec = job();
  await pgqueue.enqueueMany(database.db, spec, Array(20).fill({ payload: 1 }));
  const observed = observe(database.db).on(spec, async (_, { extendLease }) => {
    await Promise.all([extendLease("10m"), extendLease("20m"), extendLease("30m")]);
  });
  await observed.worker.drain();
  expect(observed.of("settled")).toMatchObject(Array(20).fill({ result: "done" }));
});

test("an error that cannot be printed hurts nobody", async () => {
  class Unprintable extends Error {
    [inspect.custom]() {
      throw this;
    }
  }
  const spec = job({ retryDelay: "1h" });
  vi.spyOn(console, "error").mockImplementation((...args) => void args.map((arg) => inspect(arg)));
  vi.spyOn(console, "warn").mockImplementation((...args) => void args.map((arg) => inspect(arg)));
  await pgqueue.enqueueMany(database.db, spec, Array(3).fill({ payload: 1 }));
  const worker = createWorker({ db: database.db, pgqueue });
  worker.register(spec, () => {
    throw new Unprintable("boo");
  });
  await worker.drain();
  const tasks = await pgqueue.listTasks(database.db, { queue: spec });
  expect(tasks.map(({ status, attempt }) => [status, attempt])).toEqual(Array(3).fill(["pending", 1]));
  vi.restoreAllMocks();
});

test("stop waits for the finalizeBuffer of specs at work, and of no others", async () => {
  const deaf = job({ finalizeBuffer: 100 });
  const idle = job({ finalizeBuffer: "20s" });
  await pgqueue.enqueue(database.db, deaf, 1);
  const begun = door();
  const { opened, open } = door();
  const observed = await observe(database.db, { tolerate: ["abandoned"] })
    .on(deaf, () => {
      begun.open();
      return opened;
    })
    .on(idle, () => {})
    .start();
  await begun.opened;
  const began = performance.now();
  await observed.worker.stop({ timeout: 0 });
  expect(performance.now() - began).toBeLessThan(5_000);
  open();
});

test("a ticker's claim is not ended as a job's, nor its payload replaced by another's", async () => {
  const clock = ticker();
  const { id } = await pgqueue.upsertTicker(database.db, clock);
  const [tick] = await pgqueue.claim(database.db, clock, { limit: 1 });
  const sameQueue = job({ queue: clock.queue });
  expect(() => pgqueue.finalize(database.db, sameQueue, { task: tick!, result: { type: "done" } })).toThrow(
    OptionsError,
  );
  expect(() => pgqueue.release(database.db, sameQueue, tick!)).toThrow(OptionsError);
  await pgqueue.release(database.db, clock, tick!);
  expect(await pgqueue.replacePayload(database.db, sameQueue, id, { other: 1 })).toBeUndefined();
  const [own] = await claimNew(database.db, sameQueue, 1);
  expect(() => pgqueue.release(database.db, clock, own!)).toThrow(OptionsError);
});
