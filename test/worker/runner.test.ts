import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineJob, defineTicker } from "../../src/tasks/define.ts";
import { done, fail, type Result, retry, skip } from "../../src/tasks/result.ts";
import type { Spec } from "../../src/tasks/spec.ts";
import type { Handler, Job } from "../../src/worker/handler.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { job, pgqueue, rowOf, ticker } from "../queries/jobs.ts";
import { observe } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

/** Runs the one task of a spec once; resolves to its row. */
async function runOnce(spec: Spec, id: number, handler: Handler<any>, tolerate: ("error" | "warning")[] = []) {
  const observed = observe(database.db, { tolerate }).on(spec, handler);
  expect(await observed.worker.drain()).toBe(1);
  await observed.worker.stop();
  return { row: await rowOf(database.db, id), events: observed.events };
}

async function runNew(spec: ReturnType<typeof job>, handler: Handler<any>, payload: unknown = {}) {
  const { id } = await pgqueue.enqueue(database.db, spec, payload);
  return runOnce(spec, id, handler);
}

const delayOf = (row: { runAt: Date; createdAt: Date }) => row.runAt.getTime() - row.createdAt.getTime();

describe("a handler's result", () => {
  test("done, with output", async () => {
    const { row, events } = await runNew(job(), () => done({ sent: 3, list: [1, null] }));
    expect(row).toMatchObject({
      status: "completed",
      output: { sent: 3, list: [1, null] },
      errors: null,
      attempt: 1,
      claims: 1,
      claimToken: null,
      claimedBy: null,
      leaseUntil: null,
      finishedAt: expect.any(Date),
    });
    expect(events).toEqual([
      {
        type: "settled",
        queue: row.queue,
        taskId: row.id,
        attempt: 1,
        result: "done",
        status: "completed",
        duration: expect.any(Number),
      },
    ]);
  });

  test("nothing is done", async () => {
    expect((await runNew(job(), async () => {})).row).toMatchObject({ status: "completed", output: null });
  });

  test.each<[string, () => Result | void]>([
    ["retry", () => retry(new TypeError("away"))],
    [
      "throw",
      () => {
        throw new TypeError("away");
      },
    ],
  ])("%s waits attempt × retryDelay", async (_, run) => {
    const spec = job({ retryDelay: "10m", maxRetries: 2 });
    const { id } = await pgqueue.enqueue(database.db, spec, {});
    for (const attempt of [1, 2]) {
      const { row, events } = await runOnce(spec, id, run);
      expect(row).toMatchObject({ status: "pending", attempt, finishedAt: null });
      expect(row.errors).toHaveLength(attempt);
      expect(row.errors![0]).toMatchObject({ attempt, name: "TypeError", message: "away", stack: expect.any(String) });
      const wait = row.runAt.getTime() - new Date(row.errors![0]!.at).getTime();
      expect(Math.abs(wait - attempt * 600_000)).toBeLessThan(10);
      const status = attempt <= 2 ? "pending" : "failed";
      expect(events).toMatchObject([{ type: "settled", result: "retry", attempt, status, error: { message: "away" } }]);
      await database.client`update pgqueue_tasks set run_at = now() where id = ${id}`;
    }
    const { row } = await runOnce(spec, id, run);
    expect(row).toMatchObject({ status: "failed", attempt: 3, finishedAt: expect.any(Date) });
    expect(row.errors!.map(({ attempt }) => attempt)).toEqual([3, 2, 1]);
  });

  test("fail is for good, with all tries left", async () => {
    const { row, events } = await runNew(job(), () => fail("no such customer"));
    expect(row).toMatchObject({ status: "failed", attempt: 1, errors: [{ message: "no such customer" }] });
    expect(events).toMatchObject([{ type: "settled", result: "fail" }]);
  });

  test("skip of a job is fail", async () => {
    expect((await runNew(job(), () => skip("not now"))).row).toMatchObject({ status: "failed" });
  });

  test.each([
    ["text", "done"],
    ["a number", 0],
    ["null", null],
    ["an object", { type: "finished" }],
    ["true", true],
  ])("%s is no result: a warning, and done", async (_, junk) => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, {});
    const { row, events } = await runOnce(spec, id, (() => junk) as never, ["warning"]);
    expect(row.status).toBe("completed");
    expect(events[0]).toEqual({ type: "warning", message: expect.stringContaining(`"${spec.queue}"`) });
  });
});

describe("whatever is thrown is recorded, and the task is not stuck", () => {
  const circular = new Error("outer");
  circular.cause = circular;
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  const hostile = Object.defineProperty(new Error("x"), "message", {
    get() {
      throw new Error("unreadable");
    },
  });

  test.each<[string, unknown, string]>([
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["text", "plain", "plain"],
    ["a NUL", new Error("a\0b"), "a\uFFFDb"],
    ["a lone surrogate", new Error("a\uD800b"), "a\uFFFDb"],
    ["an error that is its own cause", circular, "outer"],
    ["an object that holds itself", loop, "[object Object]"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["a bigint", 5n, "5"],
    ["an error that throws when it is read", hostile, "an error that cannot be read"],
    ["very much", new Error("x".repeat(1_000_000)), `${"x".repeat(2_000)}…`],
    ["what looks like SQL", new Error(`'; drop table "x"; -- $1 %s \\`), `'; drop table "x"; -- $1 %s \\`],
  ])("%s", async (_, thrown, message) => {
    const { row } = await runNew(job(), () => {
      throw thrown;
    });
    expect(row).toMatchObject({ status: "pending", attempt: 1, claimToken: null });
    expect(row.errors).toEqual([expect.objectContaining({ attempt: 1, message })]);
  });

  test("from a promise as well", async () => {
    const { row } = await runNew(job({ maxRetries: 0 }), () => Promise.reject(undefined));
    expect(row).toMatchObject({ status: "failed", errors: [{ message: "undefined" }] });
  });
});

test("the output that JSON cannot carry is an error of the run, with its path", async () => {
  for (const [output, path] of [
    [{ n: 1n }, "output.n"],
    [{ list: [undefined] }, "output.list[0]"],
    ["a\0b", "output"],
    [new Date(), "output"],
  ] as const) {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, {});
    const { row } = await runOnce(spec, id, () => done(output), ["error"]);
    expect(row).toMatchObject({ status: "pending", attempt: 1, output: null });
    expect(row.errors![0]).toMatchObject({ name: "PayloadError", message: expect.stringContaining(path) });
  }
});

test("one outcome that cannot be written does not keep the others of its batch", async () => {
  const spec = job();
  const enqueued = await pgqueue.enqueueMany(
    database.db,
    spec,
    [1, 2, 3, 4].map((payload) => ({ payload })),
  );
  const observed = observe(database.db, { tolerate: ["error"] }).on(spec, ({ payload }) =>
    done(payload === 2 ? 2n : payload),
  );
  expect(await observed.worker.drain()).toBe(4);
  const rows = await Promise.all(enqueued.map(({ id }) => rowOf(database.db, id)));
  expect(rows.map(({ status, output }) => [status, output])).toEqual([
    ["completed", 1],
    ["pending", null],
    ["completed", 3],
    ["completed", 4],
  ]);
});

describe("what the handler gets", () => {
  test("the job, the worker's id and a signal", async () => {
    const spec = job({ maxRetries: 7 });
    const runAt = new Date("2020-05-05T05:05:05.555Z");
    const { id } = await pgqueue.enqueue(database.db, spec, { a: [1] }, { runAt, meta: { trace: "t-1" } });
    let seen: Job | undefined;
    const observed = observe(database.db, { workerId: "worker-7" }).on(spec, (job, { signal, workerId }) => {
      seen = { ...job };
      expect(signal.aborted).toBe(false);
      expect(workerId).toBe("worker-7");
    });
    await observed.worker.drain();
    expect(seen).toEqual({
      id,
      queue: spec.queue,
      key: null,
      payload: { a: [1] },
      attempt: 1,
      maxRetries: 7,
      runAt,
      createdAt: expect.any(Date),
      meta: { trace: "t-1" },
      columns: {},
    });
  });

  test("the task's own maxRetries over the spec's", async () => {
    const spec = job({ maxRetries: 7, retryDelay: 0 });
    const { id } = await pgqueue.enqueue(database.db, spec, {}, { maxRetries: 1 });
    const seen: number[] = [];
    const observed = observe(database.db).on(spec, ({ maxRetries, attempt }) => {
      seen.push(maxRetries, attempt);
      throw new Error("again");
    });
    await observed.worker.drain();
    expect(seen).toEqual([1, 1, 1, 2]);
    expect((await rowOf(database.db, id)).status).toBe("failed");
  });

  test("the claim, while it runs, bears the worker's id", async () => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, {});
    let row: Awaited<ReturnType<typeof rowOf>> | undefined;
    const observed = observe(database.db, { workerId: "worker-8" }).on(spec, async () => {
      row = await rowOf(database.db, id);
    });
    await observed.worker.drain();
    expect(row).toMatchObject({ status: "running", claimedBy: "worker-8", claims: 1, startedAt: null });
  });

  test("a ticker's key", async () => {
    const spec = ticker({ key: "eu-west" });
    let key: unknown;
    const observed = observe(database.db).on(spec, (job) => {
      key = job.key;
    });
    await observed.worker.drain();
    expect(key).toBe("eu-west");
  });
});

test("a payload that no longer validates fails its task, and is cured by replacePayload and enable", async () => {
  const queue = job().queue;
  const old = defineJob({ queue, payload: v.object({ order: v.number() }) });
  const renamed = defineJob({ queue, payload: v.object({ orderId: v.number() }) });
  const { id } = await pgqueue.enqueue(database.db, old, { order: 7 });
  const ran: number[] = [];
  const handler: Handler<{ orderId: number }> = ({ payload }) => void ran.push(payload.orderId);

  const { row } = await runOnce(renamed, id, handler);
  expect(row).toMatchObject({ status: "failed", attempt: 1, payload: { order: 7 } });
  expect(row.errors![0]).toMatchObject({ name: "PayloadError", message: expect.stringContaining("payload.orderId") });
  expect(ran).toEqual([]);

  await pgqueue.replacePayload(database.db, renamed, id, { orderId: 7 });
  await pgqueue.enable(database.db, id);
  expect((await runOnce(renamed, id, handler)).row.status).toBe("completed");
  expect(ran).toEqual([7]);
});

test("a schema that throws fails its task", async () => {
  const spec = job({
    payload: {
      "~standard": {
        version: 1,
        vendor: "broken",
        validate: (value: any) => {
          if (value.isBroken) throw new RangeError("no such rule");
          return { value };
        },
      },
    } as never,
  });
  const { id } = await pgqueue.enqueue(database.db, spec, {});
  await database.client`update pgqueue_tasks set payload = '{"isBroken": true}' where id = ${id}`;
  const { row } = await runOnce(spec, id, () => expect.fail("it ran"));
  expect(row).toMatchObject({ status: "failed", errors: [{ name: "RangeError", message: "no such rule" }] });
});

describe("a payload that the handler changed", () => {
  test.each<[string, () => Result | void, object]>([
    ["done", () => done(), { status: "completed", payload: { cursor: 9 } }],
    ["nothing returned", () => {}, { status: "completed", payload: { cursor: 9 } }],
    ["retry", () => retry("later"), { status: "pending", payload: { cursor: 1 } }],
    ["fail", () => fail("no"), { status: "failed", payload: { cursor: 1 } }],
    ["skip of a job", () => skip("no"), { status: "failed", payload: { cursor: 1 } }],
  ])("%s", async (_, result, expected) => {
    const { row } = await runNew(
      job(),
      (job) => {
        job.payload.cursor = 9;
        return result();
      },
      { cursor: 1 },
    );
    expect(row).toMatchObject(expected);
  });

  test("may be another value altogether", async () => {
    const { row } = await runNew(
      job(),
      (job) => {
        job.payload = [null];
      },
      { cursor: 1 },
    );
    expect(row.payload).toEqual([null]);
  });

  test("is not written when it is equal: keys that the schema strips survive", async () => {
    const spec = job({ payload: v.object({ n: v.number() }) as never });
    const { row } = await runNew(
      spec,
      (job) => {
        job.payload = { n: 1 };
      },
      { n: 1, extra: true },
    );
    expect(row.payload).toEqual({ n: 1, extra: true });
  });

  const dated = defineJob({
    queue: "dated",
    payload: v.object({
      at: v.pipe(
        v.string(),
        v.isoTimestamp(),
        v.transform((text) => new Date(text)),
      ),
    }),
    encode: ({ at }) => ({ at: at.toISOString() }),
    retryDelay: "1h",
  });

  test("goes back through encode where the schema transforms", async () => {
    const { id } = await pgqueue.enqueue(database.db, dated, { at: "2026-01-01T00:00:00.000Z" });
    const { row } = await runOnce(dated, id, ({ payload }) => {
      expect(payload.at).toEqual(new Date("2026-01-01T00:00:00.000Z"));
      payload.at.setUTCFullYear(2027);
    });
    expect(row).toMatchObject({ status: "completed", payload: { at: "2027-01-01T00:00:00.000Z" } });
  });

  test("of a ticker is there at the next run, parsed again", async () => {
    const spec = defineTicker({
      queue: "cursors",
      key: "main",
      payload: v.object({ n: v.pipe(v.string(), v.transform(Number)) }),
      encode: ({ n }) => ({ n: String(n) }),
      initialPayload: { n: "1" },
      every: 1,
    });
    const seen: number[] = [];
    const observed = observe(database.db).on(spec, ({ payload }) => {
      seen.push(payload.n);
      payload.n *= 2;
    });
    await observed.start();
    await observed.seen("settled", 4);
    expect(seen.slice(0, 4)).toEqual([1, 2, 4, 8]);
  });

  test.each<[string, (payload: any) => void, string]>([
    [
      "that the schema would refuse",
      (payload) => {
        payload.n = "seven";
      },
      "payload.n",
    ],
    [
      "that JSON cannot carry",
      (payload) => {
        payload.extra = 7n;
      },
      "payload.extra",
    ],
  ])("into one %s is an error of the run, and is not stored", async (_, change, path) => {
    const spec = job({ payload: v.looseObject({ n: v.number() }) as never, retryDelay: "1h" });
    const { id } = await pgqueue.enqueue(database.db, spec, { n: 1 });
    const { row } = await runOnce(spec, id, ({ payload }) => change(payload), ["error"]);
    expect(row).toMatchObject({ status: "pending", attempt: 1, payload: { n: 1 }, claimToken: null });
    expect(row.errors![0]).toMatchObject({ name: "PayloadError", message: expect.stringContaining(path) });
  });

  describe("into one that encode throws at", () => {
    const spoil = (job: Job<{ at: Date }>) => {
      job.payload.at = new Date(Number.NaN);
    };

    test("is an error of a run that would keep it", async () => {
      const { id } = await pgqueue.enqueue(database.db, dated, { at: "2026-01-01T00:00:00.000Z" });
      const { row } = await runOnce(dated, id, (job) => {
        spoil(job);
        return done();
      });
      expect(row).toMatchObject({ status: "pending", errors: [{ name: "RangeError" }] });
      await pgqueue.disable(database.db, id);
    });

    test.each<[string, Result, object]>([
      ["fail", fail("no such order"), { status: "failed", errors: [{ message: "no such order" }] }],
      ["retry", retry("away"), { status: "pending", errors: [{ message: "away" }] }],
    ])("does not hide a %s", async (_, result, expected) => {
      const { id } = await pgqueue.enqueue(database.db, dated, { at: "2026-01-01T00:00:00.000Z" });
      const { row } = await runOnce(dated, id, (job) => {
        spoil(job);
        return result;
      });
      expect(row).toMatchObject(expected);
      await pgqueue.disable(database.db, id);
    });
  });

  test("and cannot be serialized counts as unchanged", async () => {
    const spec = job({
      payload: v.pipe(
        v.object({ n: v.number() }),
        v.transform(({ n }) => ({ n, twice: () => n * 2 })),
      ) as never,
    });
    const { row } = await runNew(
      spec,
      (job) => {
        job.payload.n = job.payload.twice();
      },
      { n: 1 },
    );
    expect(row).toMatchObject({ status: "completed", payload: { n: 1 } });
  });
});

test("delays count from the database's clock", async () => {
  const { row } = await runNew(job({ retryDelay: "100s", maxRetries: 1 }), () => retry("later"));
  expect(delayOf(row)).toBeGreaterThanOrEqual(100_000);
  expect(delayOf(row)).toBeLessThan(105_000);
});

test("each last try is written down by itself: a handler that ends the process costs no other its own", async () => {
  const spec = job({ maxRetries: 0 });
  await pgqueue.enqueueMany(database.db, spec, Array(20).fill({ payload: 1 }));
  const marked: number[] = [];
  const markStarted: typeof pgqueue.markStarted = (db, spec, tasks) => {
    marked.push([tasks].flat().length);
    return pgqueue.markStarted(db, spec, tasks);
  };
  const observed = observe(database.db, { concurrency: 20, pgqueue: { ...pgqueue, markStarted } }).on(spec, () => {});
  expect(await observed.worker.drain()).toBe(20);
  expect(marked).toEqual(Array(20).fill(1));
});
