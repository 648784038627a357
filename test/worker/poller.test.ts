import { drizzle } from "drizzle-orm/postgres-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPgqueue } from "../../src/queries/create.ts";
import { createTestDatabase } from "../../src/testing/database.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { job, pgqueue, queues, rowOf, tasks, ticker } from "../queries/jobs.ts";
import { recorded } from "../queries/recorder.ts";
import { door } from "./door.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const rest = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

/** Far longer than any test: what happens was not found by polling. */
const never = "1h";
const atOnce = 3_000;

describe("wakes at once", () => {
  test("when a task is enqueued, on postgres-js", async () => {
    const spec = job({ pollInterval: never });
    const began: number[] = [];
    const observed = await observe(database.db)
      .on(spec, () => void began.push(performance.now()))
      .start();
    const waits: number[] = [];
    for (let i = 1; i <= 5; i++) {
      const sent = performance.now();
      await pgqueue.enqueue(database.db, spec, i);
      await observed.seen("settled", i);
      waits.push(began.at(-1)! - sent);
    }
    expect(Math.min(...waits)).toBeLessThan(50);
    expect(Math.max(...waits)).toBeLessThan(atOnce);
  });

  test("when a task is enqueued, on PGlite", async () => {
    const { db, close } = await createTestDatabase({ schema: { tasks, queues } });
    const spec = job({ pollInterval: never });
    const observed = await observe(db)
      .on(spec, () => {})
      .start();
    const sent = performance.now();
    await pgqueue.enqueue(db, spec, 1);
    await observed.seen("settled", 1, atOnce);
    expect(performance.now() - sent).toBeLessThan(atOnce);
    await observed.worker.stop();
    await close();
  });

  test("when the transaction that enqueued commits, and not before", async () => {
    const spec = job({ pollInterval: never });
    const observed = await observe(database.db)
      .on(spec, () => {})
      .start();
    await database.db.transaction(async (tx) => {
      await pgqueue.enqueue(tx, spec, 1);
      await rest(30);
      expect(observed.events).toEqual([]);
    });
    await observed.seen("settled", 1, atOnce);
  });

  test("when a task is enabled, requeued, released, or its queue resumed", async () => {
    const spec = job({ pollInterval: never });
    const observed = await observe(database.db)
      .on(spec, () => {})
      .start();
    await pgqueue.pauseQueue(database.db, spec);
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    await pgqueue.resumeQueue(database.db, spec);
    await observed.seen("settled", 1, atOnce);
    await pgqueue.requeue(database.db, id);
    await observed.seen("settled", 2, atOnce);
    const later = await pgqueue.enqueue(database.db, spec, 1, { delay: never });
    await pgqueue.disable(database.db, later.id);
    await pgqueue.enable(database.db, later.id);
    await observed.seen("settled", 3, atOnce);
  });

  test("when a slot is freed", async () => {
    const spec = job({ pollInterval: never });
    await pgqueue.enqueueMany(database.db, spec, items(30));
    const observed = await observe(database.db, { concurrency: 1, listen: false })
      .on(spec, async () => {
        await rest(1);
      })
      .start();
    await observed.seen("settled", 30, atOnce);
  });

  test("only the queue that is meant", async () => {
    const { db, statements } = recorded(database);
    const [quiet, busy] = [job({ pollInterval: never }), job({ pollInterval: never })];
    const observed = await observe(db)
      .on(quiet, () => {})
      .on(busy, () => {})
      .start();
    await pgqueue.enqueue(database.db, busy, 1);
    await observed.seen("settled");
    await until(() => claims(statements) >= 4);
    await rest(30);
    const before = claims(statements);
    await pgqueue.enqueue(database.db, busy, 1);
    await observed.seen("settled", 2);
    // One that finds the task and one that finds no more.
    await until(() => claims(statements) - before >= 2);
    await rest(30);
    expect(claims(statements) - before).toBe(2);
  });
});

const silent = createPgqueue({ tasks, queues, notify: false });

describe("falls back to polling", () => {
  test.each<[string, boolean, typeof pgqueue]>([
    ["when the worker does not listen", false, pgqueue],
    ["when the producer does not notify", true, silent],
  ])("%s", async (_, listen, producer) => {
    const spec = job({ pollInterval: 200 });
    const observed = await observe(database.db, { listen, reapInterval: never })
      .on(spec, () => {})
      .start();
    const waits: number[] = [];
    for (let i = 1; i <= 4; i++) {
      await rest(30);
      const sent = performance.now();
      await producer.enqueue(database.db, spec, i);
      await observed.seen("settled", i);
      waits.push(performance.now() - sent);
    }
    expect(Math.max(...waits)).toBeGreaterThan(100);
    expect(Math.max(...waits)).toBeLessThan(atOnce);
  });
});

describe("time", () => {
  test("a task of the future wakes nobody, and runs within a poll interval of its time, not before", async () => {
    const { db, statements } = recorded(database);
    const spec = job({ pollInterval: 300 });
    let ranAt = 0;
    const observed = await observe(db)
      .on(spec, () => {
        ranAt = Date.now();
      })
      .start();
    await until(() => claims(statements) >= 2);
    const before = claims(statements);
    const { id } = await pgqueue.enqueue(database.db, spec, 1, { delay: 200 });
    await rest(50);
    expect(claims(statements)).toBe(before);
    await observed.seen("settled");
    const { runAt } = await rowOf(database.db, id);
    expect(ranAt - runAt.getTime()).toBeGreaterThanOrEqual(0);
    expect(ranAt - runAt.getTime()).toBeLessThan(300 + atOnce);
  });

  test("each of many retries comes at its own time, though nobody polls", async () => {
    const spec = job({ pollInterval: never, retryDelay: 100, maxRetries: 1 });
    const waits: number[] = [];
    const { opened, open } = door();
    const observed = await observe(database.db)
      .on(spec, async ({ payload, attempt, runAt }) => {
        if (attempt > 1) return void waits.push(Date.now() - runAt.getTime());
        // Settled one after the other, so that each is due at a moment of its own.
        await opened;
        await rest(payload * 40);
        throw new Error("once more");
      })
      .start();
    await pgqueue.enqueueMany(database.db, spec, items(8));
    open();
    await observed.seen("settled", 16, 8_000);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...waits)).toBeLessThan(atOnce);
  });

  test("a retry runs on time, and not before", async () => {
    const spec = job({ pollInterval: never, retryDelay: 150, maxRetries: 2 });
    const runs: number[] = [];
    const observed = await observe(database.db)
      .on(spec, () => {
        runs.push(performance.now());
        throw new Error("again");
      })
      .start();
    await pgqueue.enqueue(database.db, spec, 1);
    await observed.seen("settled", 3);
    const waits = [runs[1]! - runs[0]!, runs[2]! - runs[1]!];
    expect(waits[0]).toBeGreaterThanOrEqual(149);
    expect(waits[0]).toBeLessThan(150 + atOnce);
    expect(waits[1]).toBeGreaterThanOrEqual(299);
    expect(waits[1]).toBeLessThan(300 + atOnce);
  });
});

const claims = (statements: string[]) =>
  statements.filter((text) => text.includes("skip locked") && text.includes('"gate"')).length;

test("an idle worker with twenty queues sends what its intervals ask for, and nothing more", async () => {
  const { db, statements } = recorded(database);
  const warnings: Error[] = [];
  const warn = (warning: Error) => void warnings.push(warning);
  process.on("warning", warn);
  const observed = observe(db, { reapInterval: 1_000 });
  for (let i = 0; i < 20; i++)
    observed.on(i % 5 === 0 ? ticker({ pollInterval: 500, every: never }) : job({ pollInterval: 500 }), () => {});
  await observed.start();
  await observed.seen("settled", 4);
  await rest(100);

  statements.length = 0;
  const began = performance.now();
  await rest(2_000);
  const seconds = (performance.now() - began) / 1_000;
  const polls = claims(statements);
  // The reaper's intervals are up to a fifth shorter than asked for.
  const purges = statements.filter((text) => text.includes('"finished"')).length;
  const reaps = statements.length - polls - purges;
  expect(polls).toBeGreaterThanOrEqual(20 * 3);
  expect(polls).toBeLessThanOrEqual(20 * (seconds / 0.5 + 1));
  expect(reaps).toBeGreaterThanOrEqual(20);
  expect(reaps).toBeLessThanOrEqual(20 * (seconds / 0.8 + 1));
  // Once soon after the start for each queue of jobs, then once a minute.
  expect(purges).toBeLessThanOrEqual(16);
  process.off("warning", warn);
  expect(warnings).toEqual([]);
});

const refusing = () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })) as never;

test("each outage is waited out from the beginning, though tasks never run out between them", async () => {
  const spec = job({ pollInterval: never });
  await pgqueue.enqueueMany(database.db, spec, items(12));
  let calls = 0;
  const claim: typeof pgqueue.claim = (db, spec, options) =>
    calls++ % 2 === 0 ? pgqueue.claim(db, spec, { ...options, limit: 1 }) : refusing();
  const observed = await observe(database.db, {
    pgqueue: { ...pgqueue, claim },
    tolerate: ["error"],
    concurrency: 1,
  })
    .on(spec, () => {})
    .start();
  // Eleven waits of up to 100 ms; doubled each time they would be half a minute.
  await observed.seen("settled", 12, 5_000);
});

test("a task that came too late is claimed again once it was given back, though nothing tells of it", async () => {
  const spec = job({ pollInterval: never, leaseDuration: 3_000, finalizeBuffer: 2_000 });
  const { id } = await silent.enqueue(database.db, spec, 1);
  let calls = 0;
  const answered = <T>(rows: PromiseLike<T>, delay: number) =>
    Promise.resolve(rows).then((all) => rest(delay).then(() => all)) as never;
  const observed = await observe(database.db, {
    pgqueue: {
      ...silent,
      claim: (...call) => answered(silent.claim(...call), calls++ === 0 ? 1_050 : 0),
      // So that the poller has looked once more before.
      release: (...call) => rest(400).then(() => silent.release(...call)) as never,
    },
    tolerate: ["warning"],
    listen: false,
  })
    .on(spec, () => {})
    .start();
  await observed.seen("settled");
  expect(await rowOf(database.db, id)).toMatchObject({ status: "completed", attempt: 1, claims: 2 });
});

describe("slots", () => {
  test("concurrency is reached and never exceeded, over all queues", async () => {
    const specs = [job(), job(), job()];
    let working = 0;
    let most = 0;
    const observed = observe(database.db, { concurrency: 7 });
    for (const spec of specs) {
      await pgqueue.enqueueMany(database.db, spec, items(40));
      observed.on(spec, async () => {
        most = Math.max(most, ++working);
        await rest(1);
        working--;
      });
    }
    await observed.start();
    await observed.seen("settled", 120);
    expect(most).toBe(7);
  });

  test("no more is claimed than can run", async () => {
    const spec = job();
    await pgqueue.enqueueMany(database.db, spec, items(20));
    const { opened, open } = door();
    const observed = await observe(database.db, { concurrency: 4 })
      .on(spec, () => opened)
      .start();
    await until(async () => (await running(spec.queue)) === 4);
    await rest(50);
    expect(await running(spec.queue)).toBe(4);
    open();
    await observed.seen("settled", 20);
  });

  test("more than one claim brings run at once where that is asked for", async () => {
    const spec = job();
    await pgqueue.enqueueMany(database.db, spec, items(1_200));
    const { opened, open } = door();
    let working = 0;
    const observed = await observe(database.db, { concurrency: 2_000 })
      .on(spec, () => {
        working++;
        return opened;
      })
      .start();
    await until(() => working === 1_200);
    open();
    await observed.seen("settled", 1_200);
  });

  test("a flooded queue does not starve another", async () => {
    const [flooded, other] = [job({ pollInterval: 20 }), job({ pollInterval: 20 })];
    await pgqueue.enqueueMany(database.db, flooded, items(2_000));
    const order: string[] = [];
    const observed = await observe(database.db, { concurrency: 2 })
      .on(flooded, async () => {
        order.push("flooded");
        await rest(1);
      })
      .on(other, async () => {
        order.push("other");
        await rest(1);
      })
      .start();
    await until(() => order.length > 20);
    await pgqueue.enqueueMany(database.db, other, items(10));
    const before = order.length;
    await until(() => order.filter((name) => name === "other").length === 10);
    expect(order.length - before).toBeLessThan(500);
    await observed.worker.stop();
  });

  test("a queue without a handler is never touched", async () => {
    const [mine, foreign] = [job(), job()];
    const { id } = await pgqueue.enqueue(database.db, foreign, 1);
    const claimed = await pgqueue.enqueue(database.db, foreign, 2);
    await pgqueue.claim(database.db, foreign, { limit: 1, workerId: "elsewhere" });
    await database.client`update pgqueue_tasks set lease_until = now() - interval '1 hour' where queue = ${foreign.queue} and status = 'running'`;
    const rows = async () => [await rowOf(database.db, id), await rowOf(database.db, claimed.id)];
    const before = await rows();
    const observed = await observe(database.db, { reapInterval: 20 })
      .on(mine, () => {})
      .start();
    await pgqueue.enqueue(database.db, mine, 1);
    await observed.seen("settled");
    await rest(100);
    await observed.worker.stop();
    expect(await rows()).toEqual(before);
  });

  test("ten at once with one slow and one failing: the other eight settle at once", async () => {
    const spec = job({ retryDelay: never });
    const { opened, open } = door();
    const enqueued = await pgqueue.enqueueMany(database.db, spec, items(10));
    const observed = await observe(database.db)
      .on(spec, async ({ payload }) => {
        if (payload === 3) await opened;
        if (payload === 5) throw new Error("no");
      })
      .start();
    await observed.seen("settled", 9, atOnce);
    const states = await Promise.all(enqueued.map(async ({ id }) => (await rowOf(database.db, id)).status));
    expect(states).toEqual(items(10).map(({ payload }) => ({ 3: "running", 5: "pending" })[payload] ?? "completed"));
    open();
    await observed.seen("settled", 10, atOnce);
  });
});

async function running(queue: string): Promise<number> {
  const [row] = await database.client`
    select count(*)::int as count from pgqueue_tasks where queue = ${queue} and status = 'running'`;
  return row!.count;
}

describe("a claim that Postgres refuses", () => {
  test("is sent again when it met another, without a word", async () => {
    const spec = job({ pollInterval: never });
    const own = await createDatabase({ migrated: true });
    await own.client.unsafe(`
      create sequence refusals;
      create function refuse() returns trigger language plpgsql as $$ begin
        if new.status = 'running' and nextval('refusals') <= 5 then raise serialization_failure; end if;
        return new;
      end $$;
      create trigger refuse before update on pgqueue_tasks for each row execute function refuse();`);
    await pgqueue.enqueue(own.db, spec, 1);
    const observed = await observe(own.db)
      .on(spec, () => {})
      .start();
    await observed.seen("settled");
    await observed.worker.stop();
    await own.end();
  });

  test("for ever does not keep the other queues, and is told", async () => {
    const [refused, other] = [job({ pollInterval: 20 }), job({ pollInterval: 20 })];
    const own = await createDatabase({ migrated: true });
    await own.client.unsafe(
      `create unique index on pgqueue_tasks (status) where status = 'running' and queue = '${refused.queue}'`,
    );
    await pgqueue.enqueueMany(own.db, refused, items(2));
    const { opened, open } = door();
    const observed = await observe(own.db, { tolerate: ["error"], concurrency: 2 })
      .on(refused, () => opened)
      .on(other, () => {})
      .start();
    await until(async () => observed.of("error").length > 0, 15_000);
    expect(observed.of("error")[0]).toMatchObject({ during: "claim", queue: refused.queue });
    await pgqueue.enqueueMany(own.db, other, items(5));
    await until(() => observed.of("settled").filter(({ queue }) => queue === other.queue).length === 5, 15_000);
    open();
    await observed.worker.stop();
    await own.end();
  });

  test("outright is told once a poll interval, and does not end the worker", async () => {
    const spec = job({ pollInterval: 100 });
    const own = await createDatabase({ migrated: true });
    await own.client.unsafe(`alter table pgqueue_tasks rename column meta to meat`);
    const observed = observe(own.db, { tolerate: ["error"], reapInterval: never }).on(spec, () => {});
    await observed.worker.start();
    await observed.seen("error", 3);
    expect(observed.of("error")[0]).toMatchObject({ during: "claim", error: { name: "SchemaError" } });
    await own.client.unsafe(`alter table pgqueue_tasks rename column meat to meta`);
    await pgqueue.enqueue(own.db, spec, 1);
    await observed.seen("settled");
    await observed.worker.stop();
    await own.end();
  });
});

test("two workers share the work, each task once", async () => {
  const spec = job();
  const enqueued = await pgqueue.enqueueMany(database.db, spec, items(300));
  const ran: number[] = [];
  const clients = [drizzle(database.client), drizzle(database.client), drizzle(database.client)];
  const all = await Promise.all(
    clients.map((db) =>
      observe(db, { concurrency: 5 })
        .on(spec, async ({ id }) => {
          ran.push(id);
          await rest(1);
        })
        .start(),
    ),
  );
  await until(() => all.reduce((sum, { events }) => sum + events.length, 0) === 300);
  expect(ran.sort((a, b) => a - b)).toEqual(enqueued.map(({ id }) => id));
  for (const observed of all) expect(observed.events.length).toBeGreaterThan(0);
});
