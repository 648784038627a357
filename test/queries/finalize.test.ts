import { sql } from "drizzle-orm";
import * as v from "valibot";
import { afterAll, describe, expect, test } from "vitest";
import {
  type Claimed,
  defineJob,
  done,
  fail,
  type JobSpec,
  newClaimToken,
  OptionsError,
  PayloadError,
  retry,
  StaleClaimError,
  skip,
} from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, claimNew, claimOne, expire, job, makeDue, pgqueue, rowOf, ticker } from "./jobs.ts";
import { recorded } from "./recorder.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);
const { enqueue, finalize, upsertTicker } = pgqueue;

const noClaim = { claimToken: null, claimedBy: null, claimedAt: null, leaseUntil: null, startedAt: null };

/** Milliseconds from the settlement, as recorded in the newest error, to the next run. */
const delayOf = (row: Awaited<ReturnType<typeof rowOf>>) => row.runAt.getTime() - Date.parse(row.errors![0]!.at);

describe("a job", () => {
  test("done is completed, with its output", async () => {
    const spec = job();
    const [task] = await claimNew(db, spec, 1);
    expect(await finalize(db, spec, { task: task!, result: done({ sent: [1, null] }) })).toEqual([{ id: task!.id }]);
    expect(await rowOf(db, task!.id)).toMatchObject({
      status: "completed",
      attempt: 1,
      claims: 1,
      output: { sent: [1, null] },
      errors: null,
      finishedAt: expect.any(Date),
      runAt: task!.runAt,
      payload: { i: 0 },
      ...noClaim,
    });
  });

  test("retry is pending after attempt × retryDelay, then failed", async () => {
    const spec = job({ maxRetries: 2, retryDelay: "10s" });
    const { id } = await enqueue(db, spec, "kept");
    for (const attempt of [1, 2]) {
      await finalize(db, spec, {
        task: await claimOne(db, spec),
        result: retry(new Error(`try ${attempt}`)),
        payload: "lost",
      });
      const row = await rowOf(db, id);
      expect(row).toMatchObject({ status: "pending", attempt, payload: "kept", finishedAt: null, ...noClaim });
      expect(delayOf(row)).toBeGreaterThanOrEqual(attempt * 10_000);
      expect(delayOf(row)).toBeLessThan(attempt * 10_000 + 2);
      await makeDue(db, spec);
    }
    await finalize(db, spec, { task: await claimOne(db, spec), result: retry("last") });
    const row = await rowOf(db, id);
    expect(row).toMatchObject({ status: "failed", attempt: 3, finishedAt: expect.any(Date) });
    expect(row.errors).toEqual([
      {
        attempt: 3,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        name: "Error",
        message: "last",
      },
      expect.objectContaining({ attempt: 2, message: "try 2", stack: expect.stringContaining("finalize.test") }),
      expect.objectContaining({ attempt: 1, message: "try 1" }),
    ]);
    expect(Date.parse(row.errors![0]!.at)).toBe(row.finishedAt!.getTime());
  });

  test.each([fail("no"), skip("no")])("$type is failed at once, its payload kept as it was", async (result) => {
    const spec = job();
    const [task] = await claimNew(db, spec, 1);
    await finalize(db, spec, { task: task!, result, payload: "lost" });
    expect(await rowOf(db, task!.id)).toMatchObject({
      status: "failed",
      payload: { i: 0 },
      errors: [{ message: "no", attempt: 1 }],
    });
  });

  test.each([null, false, 0, "", '{"a":1}', { a: null }])("done keeps the changed payload %j", async (payload) => {
    const spec = job();
    const [task] = await claimNew(db, spec, 1);
    await finalize(db, spec, { task: task!, result: done(), payload });
    expect((await rowOf(db, task!.id)).payload).toStrictEqual(payload);
    const [row] = await client`select payload is null as lost from pgqueue_tasks where id = ${task!.id}`;
    expect(row?.lost).toBe(false);
  });

  test("keeps a root null that did not change", async () => {
    const spec = job();
    await enqueue(db, spec, null);
    await finalize(db, spec, { task: await claimOne(db, spec), result: retry("x") });
    await makeDue(db, spec);
    expect((await claimOne(db, spec)).payload).toBeNull();
  });

  test("its own maxRetries goes before the spec's", async () => {
    const spec = job({ maxRetries: 5 });
    const { id } = await enqueue(db, spec, 1, { maxRetries: 0 });
    await finalize(db, spec, { task: await claimOne(db, spec), result: retry("x") });
    expect((await rowOf(db, id)).status).toBe("failed");
  });

  test("the latest ten errors are kept, newest first", async () => {
    const spec = job({ maxRetries: 20, retryDelay: 0 });
    const { id } = await enqueue(db, spec, 1);
    for (let i = 1; i <= 12; i++) {
      await finalize(db, spec, { task: await claimOne(db, spec), result: retry(`e${i}`) });
    }
    const row = await rowOf(db, id);
    expect(row.errors!.map(({ message }) => message)).toEqual(Array.from({ length: 10 }, (_, i) => `e${12 - i}`));
    await finalize(db, spec, { task: await claimOne(db, spec), result: done() });
    expect((await rowOf(db, id)).errors).toHaveLength(10);
  });

  test("an output is that of the last run that succeeded, and null where it returned none", async () => {
    const spec = job();
    const { id } = await enqueue(db, spec, 1);
    const run = async (result: ReturnType<typeof done>) => {
      await pgqueue.requeue(db, id);
      await finalize(db, spec, { task: await claimOne(db, spec), result });
      return (await rowOf(db, id)).output;
    };
    expect(await run(done({ n: 1 }))).toEqual({ n: 1 });
    expect(await run(retry("x"))).toEqual({ n: 1 });
    expect(await run(fail("x"))).toEqual({ n: 1 });
    expect(await run(done())).toBeNull();
    expect(await run(done(null))).toBeNull();
    expect(await run(done(false))).toBe(false);
  });

  test("a delay of absurd length stays within timestamptz and in the future", async () => {
    const spec = job({ retryDelay: 36_525 * 86_400_000, maxRetries: 32_767 });
    const { id } = await enqueue(db, spec, 1);
    await client`update pgqueue_tasks set attempt = 30000 where id = ${id}`;
    await finalize(db, spec, { task: await claimOne(db, spec), result: retry("x") });
    expect((await rowOf(db, id)).runAt.getUTCFullYear()).toBeGreaterThan(2120);
  });
});

test.each<[name: string, thrown: unknown, recorded: object]>([
  ["NUL and a lone surrogate", new Error("a\0b\ud800"), { name: "Error", message: "a\uFFFDb\uFFFD" }],
  ["undefined", undefined, { name: "Error", message: "undefined" }],
  ["text like SQL", "'; $1 ? %s \\", { message: "'; $1 ? %s \\" }],
  [
    "a circle",
    (() => {
      const e = new Error("round");
      e.cause = e;
      return e;
    })(),
    { message: "round" },
  ],
])("an error of %s is recorded, and the task is not stuck", async (_, thrown, expected) => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  await finalize(db, spec, { task: task!, result: retry(thrown) });
  expect(await rowOf(db, task!.id)).toMatchObject({ status: "pending", errors: [expected] });
});

describe("a ticker", () => {
  const claimed = async (options = {}) => {
    const spec = ticker(options);
    const { id } = await upsertTicker(db, spec);
    return { spec, id, task: await claimOne(db, spec) };
  };
  const untilNextRun = async (id: number) => {
    const [row] = await client`
      select extract(epoch from run_at - statement_timestamp())::float8 as seconds from pgqueue_tasks where id = ${id}`;
    return row!.seconds as number;
  };

  test("done runs again at every, with its tries, its changed payload and its output", async () => {
    const { spec, id, task } = await claimed({ every: "1h" });
    await finalize(db, spec, { task, result: done("ok"), payload: { cursor: 5 } });
    expect(await rowOf(db, id)).toMatchObject({
      status: "pending",
      attempt: 0,
      payload: { cursor: 5 },
      output: "ok",
      finishedAt: null,
      ...noClaim,
    });
    expect(await untilNextRun(id)).toBeGreaterThan(3_590);
    expect(await untilNextRun(id)).toBeLessThanOrEqual(3_600);
  });

  test("every counts as the spec of whoever runs it says", async () => {
    const { spec, id, task } = await claimed({ every: "1h" });
    await finalize(db, ticker({ queue: spec.queue, every: "2h" }), { task, result: done() });
    expect(await untilNextRun(id)).toBeGreaterThan(7_190);
    expect((await rowOf(db, id)).payload).toEqual({ cursor: 0 });
  });

  test("skip runs again at every, keeping a changed payload and the error", async () => {
    const { spec, id, task } = await claimed();
    await finalize(db, spec, { task, result: skip("nothing new"), payload: { cursor: 6 } });
    expect(await rowOf(db, id)).toMatchObject({
      status: "pending",
      attempt: 0,
      payload: { cursor: 6 },
      errors: [{ message: "nothing new" }],
    });
    expect(await untilNextRun(id)).toBeGreaterThan(3_590);
  });

  test("fail is failed", async () => {
    const { spec, id, task } = await claimed();
    await finalize(db, spec, { task, result: fail("broken"), payload: { cursor: 6 } });
    expect(await rowOf(db, id)).toMatchObject({ status: "failed", payload: { cursor: 0 } });
  });

  test("out of tries waits for its next tick, which has all its tries again", async () => {
    const { spec, id, task } = await claimed({ maxRetries: 1, retryDelay: "1s" });
    const attempts: number[] = [];
    let run = task;
    for (let i = 0; i < 4; i++) {
      attempts.push(run.attempt);
      await finalize(db, spec, { task: run, result: retry(`e${i}`), payload: { cursor: 9 } });
      if (i % 2 === 1) {
        expect(await rowOf(db, id)).toMatchObject({ status: "pending", attempt: 0, payload: { cursor: 0 } });
        expect(await untilNextRun(id)).toBeGreaterThan(3_590);
      }
      await makeDue(db, spec);
      run = await claimOne(db, spec);
    }
    expect(attempts).toEqual([1, 2, 1, 2]);
    expect((await rowOf(db, id)).errors!.map(({ message }) => message)).toEqual(["e3", "e2", "e1", "e0"]);
  });
});

describe("a batch", () => {
  test("takes mixed results, each for its own task", async () => {
    const spec = job({ retryDelay: "1m" });
    const tasks = await claimNew(db, spec, 4);
    const results = [done({ n: 0 }), retry("r"), fail("f"), skip("s")];
    const applied = await finalize(
      db,
      spec,
      tasks.map((task, i) => ({ task, result: results[i]!, payload: `p${i}` })).reverse(),
    );
    expect(applied.map(({ id }) => id).sort((a, b) => a - b)).toEqual(tasks.map(({ id }) => id));
    const rows = await Promise.all(tasks.map(({ id }) => rowOf(db, id)));
    expect(rows.map(({ status, payload, output, errors }) => [status, payload, output, errors?.[0]?.message])).toEqual([
      ["completed", "p0", { n: 0 }, undefined],
      ["pending", { i: 1 }, null, "r"],
      ["failed", { i: 2 }, null, "f"],
      ["failed", { i: 3 }, null, "s"],
    ]);
  });

  test("of none changes nothing", async () => {
    expect(await finalize(db, job(), [])).toEqual([]);
  });

  test("applies those that are held, and tells which", async () => {
    const spec = job();
    const tasks = await claimNew(db, spec, 5);
    const [held, stale, disabled, gone, locked] = tasks as [Claimed, Claimed, Claimed, Claimed, Claimed];
    await expire(db, stale.id);
    await pgqueue.reap(db, spec);
    await pgqueue.disable(db, disabled.id);
    await client`delete from pgqueue_tasks where id = ${gone.id}`;
    const { tx, rollback } = await begin(db);
    await tx.execute(sql`select from pgqueue_tasks where id = ${locked.id} for no key update`);
    const outcomes = tasks.map((task) => ({ task, result: done() }));
    expect(await finalize(db, spec, outcomes)).toEqual([{ id: held.id }]);
    expect(await pgqueue.heldBy(db, spec, [gone, locked, disabled, stale, held])).toMatchObject([
      { id: gone.id, holding: "gone" },
      { id: locked.id, holding: "busy" },
      { id: disabled.id, holding: "lost" },
      { id: stale.id, holding: "lost" },
      { id: held.id, holding: "lost" },
    ]);
    await rollback();
    expect((await rowOf(db, stale.id)).status).toBe("pending");
    expect((await rowOf(db, disabled.id)).status).toBe("disabled");
    expect(await finalize(db, spec, outcomes)).toEqual([{ id: locked.id }]);
  });

  test("repeated changes nothing", async () => {
    const spec = job();
    const [task] = await claimNew(db, spec, 1);
    const outcome = { task: task!, result: fail("once") };
    await finalize(db, spec, outcome);
    const before = await rowOf(db, task!.id);
    expect(await finalize(db, spec, outcome)).toEqual([]);
    expect(await rowOf(db, task!.id)).toEqual(before);
  });
});

describe("the fence", () => {
  test("a second holder's outcome stands, the first one's changes nothing", async () => {
    const spec = job({ leaseDuration: 1_000, retryDelay: 0 });
    const [first] = await claimNew(db, spec, 1);
    await expire(db, first!.id);
    await pgqueue.reap(db, spec);
    const second = await claimOne(db, spec);
    expect(await finalize(db, spec, { task: first!, result: done("first"), payload: "first" })).toEqual([]);
    expect(await finalize(db, spec, { task: second, result: done("second") })).toHaveLength(1);
    expect(await finalize(db, spec, { task: first!, result: fail("first") })).toEqual([]);
    expect(await rowOf(db, first!.id)).toMatchObject({ status: "completed", output: "second", payload: { i: 0 } });
  });

  test("is the token and the count of claims together", async () => {
    const spec = job();
    const [task] = await claimNew(db, spec, 1);
    for (const wrong of [{ token: crypto.randomUUID() }, { claims: 0 }, { claims: 2 }, { id: task!.id + 1_000_000 }]) {
      const forged = { ...task!, ...wrong } as Claimed;
      expect(await finalize(db, spec, { task: forged, result: done() })).toEqual([]);
    }
    expect(await finalize(db, spec, { task: task!, result: done() })).toHaveLength(1);
  });

  describe.each<[string, (spec: JobSpec<any>) => Promise<Claimed[]>]>([
    ["together", (spec) => claimNew(db, spec, 3)],
    ["one by one", async (spec) => (await Promise.all([1, 2, 3].map(() => claimNew(db, spec, 1)))).flat()],
  ])("of tasks that were claimed %s", (_, claimThree) => {
    test.each([{ token: newClaimToken() }, { claims: 2 }])("is that of each: %o is wrong", async (wrong) => {
      const spec = job();
      const tasks = await claimThree(spec);
      const end = (tasks: Claimed[]) =>
        finalize(
          db,
          spec,
          tasks.map((task) => ({ task, result: done() })),
        );
      expect(await end(tasks.map((task) => ({ ...task, ...wrong })))).toEqual([]);
      const [first, second, third] = tasks as [Claimed, Claimed, Claimed];
      expect(await end([first, { ...second, ...wrong }])).toEqual([{ id: first.id }]);
      expect((await end([second, third])).map(({ id }) => id).sort()).toEqual([second.id, third.id].sort());
    });
  });

  test("a lease that ran out but was not taken over still counts", async () => {
    const spec = job();
    const [task] = await claimNew(db, spec, 1);
    await expire(db, task!.id);
    expect(await finalize(db, spec, { task: task!, result: done() })).toHaveLength(1);
  });
});

describe("refused before any SQL", () => {
  const send = async (run: (handle: typeof db, task: Claimed<any>) => unknown) => {
    const spec = job();
    const [task] = await claimNew(db, spec, 1);
    const handle = recorded(database);
    let error: unknown;
    try {
      await run(handle.db, task!);
    } catch (thrown) {
      error = thrown;
    }
    expect(handle.statements).toEqual([]);
    expect((await rowOf(db, task!.id)).status).toBe("running");
    return error;
  };

  test("two outcomes for one task", async () => {
    const error = await send((db, task) =>
      finalize(db, job({ queue: task.queue }), [
        { task, result: done() },
        { task, result: fail("x") },
      ]),
    );
    expect(error).toBeInstanceOf(OptionsError);
    expect(error).toMatchObject({ field: "finalize.outcomes[1].id" });
  });

  test("a task of another queue", async () => {
    expect(await send((db, task) => finalize(db, job(), { task, result: done() }))).toMatchObject({
      field: "finalize.outcomes[0].queue",
    });
  });

  test.each([undefined, null, "done", {}, { type: "ok" }])("%o as result", async (result) => {
    const error = await send((db, task) => finalize(db, job({ queue: task.queue }), { task, result: result as never }));
    expect(error).toMatchObject({ field: "finalize.outcomes[0].result", name: "OptionsError" });
  });

  test.each([{ id: 1 }, { id: "1", token: "a", claims: 1 }, null])("%o as task", async (task) => {
    const error = await send((db) => finalize(db, job(), { task: task as never, result: done() }));
    expect(error).toMatchObject({ field: "finalize.outcomes[0]", name: "OptionsError" });
  });

  test("the bare claim of a task, which does not say how often it was tried", async () => {
    const error = await send((db, { id, queue, key, token, claims }) =>
      finalize(db, job({ queue }), { task: { id, queue, key, token, claims } as never, result: retry("x") }),
    );
    expect(error).toMatchObject({ field: "finalize.outcomes[0].task.attempt", name: "OptionsError" });
  });

  test.each<[outcome: object | null, field: string]>([
    [{ result: done(), paylod: 1 }, "finalize.outcomes[0].paylod"],
    [null, "finalize.outcomes[0]"],
  ])("%o as outcome", async (outcome, field) => {
    const error = await send((db, task) =>
      finalize(db, job({ queue: task.queue }), [(outcome && { task, ...outcome }) as never]),
    );
    expect(error).toMatchObject({ field, name: "OptionsError" });
  });

  test("an output of one of several, which is named", async () => {
    const spec = job();
    const [a, b] = await claimNew(db, spec, 2);
    const outcomes = [
      { task: a!, result: done() },
      { task: b!, result: done({ n: 1n }) },
    ];
    expect(() => finalize(db, spec, outcomes)).toThrow(
      expect.objectContaining({ path: "finalize.outcomes[1].output.n" }),
    );
  });

  test("an output or payload that JSON cannot carry", async () => {
    const output = await send((db, task) =>
      finalize(db, job({ queue: task.queue }), { task, result: done({ n: 1n }) }),
    );
    expect(output).toBeInstanceOf(PayloadError);
    expect(output).toMatchObject({ path: "output.n" });
    const payload = await send((db, task) =>
      finalize(db, job({ queue: task.queue }), { task, result: done(), payload: { at: new Date() } }),
    );
    expect(payload).toMatchObject({ path: "payload.at" });
  });

  test("a changed payload that the schema refuses", async () => {
    const error = await send((db, task) => {
      const spec = defineJob({ queue: task.queue, payload: v.object({ i: v.number() }) });
      return finalize(db, spec, { task, result: done(), payload: { i: "no" } as never });
    });
    expect(error).toMatchObject({ path: "payload.i" });
  });
});

test("active dedup gives the hash up when the job ends, and only then", async () => {
  for (const [dedup, result, held] of [
    ["active", done(), false],
    ["active", fail("x"), false],
    ["active", retry("x"), true],
    ["retained", done(), true],
    ["retained", fail("x"), true],
  ] as const) {
    const spec = job({ hash: () => "h", dedup });
    const { id } = await enqueue(db, spec, 1);
    await finalize(db, spec, { task: (await claimAll(db, spec))[0]!, result });
    expect(await rowOf(db, id)).toMatchObject({ hash: "h", hashHeld: held });
  }
});

test("is a value: it can be kept, shown and used as a CTE", async () => {
  const spec = job();
  const tasks = await claimNew(db, spec, 2);
  const kept = finalize(
    db,
    spec,
    tasks.map((task) => ({ task, result: done() })),
  );
  expect(kept.toSQL().sql).toMatch(/for no key update of "pgqueue_tasks" skip locked/);
  expect(kept.toSQL().sql).not.toMatch(/\bnow\(\)|clock_timestamp/);
  const ended = db.$with("ended").as(kept as never) as any;
  const [row] = await db.with(ended).select({ n: sql<number>`count(*)::int` }).from(ended);
  expect(row?.n).toBe(2);
});

describe("a job of which nothing is retained", () => {
  const keepsNothing = () => job({ retain: { completed: 0, failed: 0 } });
  const statuses = async (ids: number[]) => {
    const rows = await client`select id, status from pgqueue_tasks where id = any(${ids}) order by id`;
    return rows.map(({ id, status }) => `${ids.indexOf(Number(id))} ${status}`);
  };

  test("is deleted by the statement that ends it", async () => {
    const spec = keepsNothing();
    const tasks = await claimNew(db, spec, 3);
    const ended = finalize(
      db,
      spec,
      tasks.map((task, i) => ({ task, result: i === 0 ? fail("x") : done(i) })),
    );
    expect(ended.toSQL().sql).toMatch(/delete from/);
    expect((await ended).map(({ id }) => id).sort()).toEqual(tasks.map(({ id }) => id).sort());
    expect(await statuses(tasks.map(({ id }) => id))).toEqual([]);
    expect(await pgqueue.heldBy(db, spec, tasks)).toMatchObject(tasks.map(() => ({ holding: "gone" })));
  });

  test("is deleted beside others that stay, all told", async () => {
    const spec = job({ retain: { completed: 0 } });
    const tasks = await claimNew(db, spec, 4);
    const results = [done(), retry("x"), fail("x"), done("output")];
    const ended = await finalize(
      db,
      spec,
      tasks.map((task, i) => ({ task, result: results[i]! })),
    );
    const ids = tasks.map(({ id }) => id);
    expect(ended.map(({ id }) => id).sort()).toEqual(ids.slice().sort());
    expect(await statuses(ids)).toEqual(["1 pending", "2 failed"]);
    expect(await rowOf(db, ids[1]!)).toMatchObject({ attempt: 1, errors: [{ message: "x" }], ...noClaim });
  });

  test("is fenced, and waits for nobody", async () => {
    const spec = keepsNothing();
    const [stale, locked, referred, held] = (await claimNew(db, spec, 4)) as [Claimed, Claimed, Claimed, Claimed];
    await expire(db, stale.id);
    await pgqueue.reap(db, spec);
    const { tx, rollback } = await begin(db);
    await tx.execute(sql`select from pgqueue_tasks where id = ${locked.id} for no key update`);
    // As the insert of a row with a foreign key to it does.
    await tx.execute(sql`select from pgqueue_tasks where id = ${referred.id} for key share`);
    const outcomes = [stale, locked, referred, held].map((task) => ({ task, result: done() }));
    expect(await finalize(db, spec, outcomes)).toEqual([{ id: held.id }]);
    await rollback();
    const again = await finalize(db, spec, outcomes);
    expect(again.map(({ id }) => id).sort()).toEqual([locked.id, referred.id].sort());
    expect(await rowOf(db, stale.id)).toMatchObject({ status: "pending" });
  });

  test("gives its hash up with its row", async () => {
    const spec = job({ hash: () => "h", retain: { completed: 0 } });
    await enqueue(db, spec, 1);
    await finalize(db, spec, { task: (await claimAll(db, spec))[0]!, result: done() });
    expect(await enqueue(db, spec, 1)).toMatchObject({ status: "pending", deduplicated: false });
  });

  test("and finalizeOrThrow: it goes with the transaction, or stays with it", async () => {
    const spec = keepsNothing();
    const [task] = (await claimNew(db, spec, 1)) as [Claimed];
    const outcome = { task, result: done() };
    const undone = new Error("undone");
    const rolledBack = db.transaction(async (tx) => {
      await pgqueue.finalizeOrThrow(tx, spec, outcome);
      throw undone;
    });
    await expect(rolledBack).rejects.toBe(undone);
    expect(await rowOf(db, task.id)).toMatchObject({ status: "running" });
    await db.transaction((tx) => pgqueue.finalizeOrThrow(tx, spec, outcome));
    expect(await statuses([task.id])).toEqual([]);
    await expect(pgqueue.finalizeOrThrow(db, spec, outcome)).rejects.toThrow(StaleClaimError);
  });
});
