import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { StaleClaimError } from "../../src/errors.ts";
import { done, fail, retry, skip } from "../../src/tasks/result.ts";
import type { Context } from "../../src/worker/handler.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { expire, job, makeDue, pgqueue, rowOf, ticker } from "../queries/jobs.ts";
import { observe } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
  await database.client`create table effects (id int)`;
});
afterAll(() => database.end());
beforeEach(async () => void (await database.client`delete from effects`));

const effects = async () => (await database.client`select id from effects order by id`).map(({ id }) => id);

/** An effect and the end of the task in one transaction. */
function effect(context: Context, id: number, result = done(), spoil = false): Promise<void> {
  return database.db.transaction(async (tx) => {
    await tx.execute(`insert into effects values (${id})`);
    await context.finalize(tx, result);
    if (spoil) throw new Error("the transaction rolls back");
  });
}

describe("ctx.finalize", () => {
  test("commits with the effects; what the handler says afterwards is no lost claim", async () => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const observed = observe(database.db).on(spec, async (_, context) => {
      await effect(context, 1, done({ receipt: 7 }));
      expect(await rowOf(database.db, id)).toMatchObject({ status: "completed", output: { receipt: 7 } });
    });
    expect(await observed.worker.drain()).toBe(1);
    expect(observed.events).toMatchObject([{ type: "settled", taskId: id, result: "done" }]);
    expect(await effects()).toEqual([1]);
    expect(await rowOf(database.db, id)).toMatchObject({ status: "completed", output: { receipt: 7 } });
  });

  test.each([
    ["fail", fail("x"), "failed"],
    ["retry", retry("x"), "pending"],
    ["skip", skip("x"), "failed"],
  ] as const)("says %s, and the worker reports that", async (type, result, status) => {
    const spec = job({ retryDelay: "1h" });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const observed = observe(database.db).on(spec, (_, context) => effect(context, 1, result));
    await observed.worker.drain();
    expect(observed.events).toMatchObject([{ type: "settled", result: type }]);
    const row = await rowOf(database.db, id);
    expect(row.status).toBe(status);
    expect(row.errors).toHaveLength(1);
  });

  test.each([
    ["done", done(), { completed: 0 }],
    ["fail", fail("x"), { failed: 0 }],
  ] as const)(
    "says %s, nothing of which is retained, and the worker reports that too",
    async (type, result, retain) => {
      const spec = job({ retain });
      const { id } = await pgqueue.enqueue(database.db, spec, 1);
      const observed = observe(database.db).on(spec, (_, context) => effect(context, 1, result));
      await observed.worker.drain();
      expect(observed.events).toMatchObject([{ type: "settled", taskId: id, result: type }]);
      expect(await pgqueue.getTask(database.db, id)).toEqual([]);
    },
  );

  test.each([[null], ["done"], [{ type: "ok" }]])("refuses %o as a result, before any SQL", async (result) => {
    const spec = job({ maxRetries: 0 });
    await pgqueue.enqueue(database.db, spec, 1);
    const observed = observe(database.db).on(spec, (_, context) => effect(context, 1, result as never));
    await observed.worker.drain();
    expect(observed.of("settled")).toMatchObject([{ error: { name: "OptionsError", field: "finalize.result" } }]);
    expect(await effects()).toEqual([]);
  });

  test("stands although the handler throws afterwards", async () => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const observed = observe(database.db, { tolerate: ["error"] }).on(spec, async (_, context) => {
      await effect(context, 1);
      throw new Error("too late");
    });
    await observed.worker.drain();
    expect(observed.events).toMatchObject([
      { type: "error", during: "settle", error: { message: "too late" } },
      { type: "settled", result: "done", status: "completed" },
    ]);
    expect(await rowOf(database.db, id)).toMatchObject({ status: "completed", errors: null });
  });

  test("and another result returned afterwards: the first stands, and there is a warning", async () => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const observed = observe(database.db, { tolerate: ["warning"] }).on(spec, async (_, context) => {
      await effect(context, 1);
      return fail("on second thoughts");
    });
    await observed.worker.drain();
    expect(observed.events).toMatchObject([{ type: "warning" }, { type: "settled", result: "done" }]);
    expect(await rowOf(database.db, id)).toMatchObject({ status: "completed", errors: null });
  });

  test.each([
    ["nothing", undefined, { status: "pending", output: null, attempt: 1 }],
    ["a result", done("late"), { status: "completed", output: "late", errors: null }],
  ])(
    "that rolled back, the error swallowed and %s returned: settled all the same, at once",
    async (_, returned, end) => {
      const spec = job({ pollInterval: "1h" });
      const { id } = await pgqueue.enqueue(database.db, spec, 1);
      const observed = await observe(database.db)
        .on(spec, async (_, context) => {
          await effect(context, 1, done("late"), true).catch(() => {});
          return returned;
        })
        .start();
      await observed.seen("settled", 1, 5_000);
      expect(await effects()).toEqual([]);
      expect(await rowOf(database.db, id)).toMatchObject({ ...end, claims: 1 });
    },
  );

  test("that rolled back with an error that the handler lets through: tried again", async () => {
    const spec = job({ retryDelay: 0 });
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const observed = observe(database.db).on(spec, ({ attempt }, context) =>
      effect(context, attempt, done(), attempt === 1),
    );
    await observed.worker.drain();
    expect(await effects()).toEqual([2]);
    expect(observed.events).toMatchObject([{ result: "retry" }, { result: "done" }]);
    expect(await rowOf(database.db, id)).toMatchObject({
      status: "completed",
      errors: [{ message: "the transaction rolls back" }],
    });
  });

  test("of a claim that is over throws, and takes the effects with it", async () => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    let refusal: unknown;
    const observed = observe(database.db, { tolerate: ["lost"] }).on(spec, async (_, context) => {
      await expire(database.db, id);
      await pgqueue.reap(database.db, spec);
      refusal = await effect(context, 1).catch((error) => error);
      throw refusal;
    });
    await observed.worker.drain();
    expect(refusal).toBeInstanceOf(StaleClaimError);
    expect(await effects()).toEqual([]);
    expect(observed.events).toMatchObject([{ type: "lost", taskId: id }]);
    expect(await rowOf(database.db, id)).toMatchObject({ status: "pending", attempt: 1 });
  });

  test("keeps a ticker's cursor with what it stands for", async () => {
    const spec = ticker({ every: "1h", initialPayload: { cursor: 0 } });
    const observed = observe(database.db).on(spec, async (job, context) => {
      const spoil = job.payload.cursor === 1 && job.attempt === 1;
      job.payload.cursor++;
      await effect(context, job.payload.cursor, done(), spoil);
    });
    await observed.worker.drain();
    for (let i = 0; i < 3; i++) {
      await makeDue(database.db, spec);
      await observed.worker.drain();
    }
    expect(await effects()).toEqual([1, 2, 3]);
    expect(observed.events.map((event) => event.type === "settled" && event.result)).toEqual([
      "done",
      "retry",
      "done",
      "done",
    ]);
  });

  test("twice is refused: the first ended the claim", async () => {
    const spec = job();
    await pgqueue.enqueue(database.db, spec, 1);
    let refusal: unknown;
    const observed = observe(database.db).on(spec, async (_, context) => {
      await effect(context, 1);
      refusal = await effect(context, 2).catch((error) => error);
    });
    await observed.worker.drain();
    expect(refusal).toBeInstanceOf(StaleClaimError);
    expect(await effects()).toEqual([1]);
  });

  test("first in a repeatable-read transaction works beside the worker's own statements", async () => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, 1);
    const observed = observe(database.db).on(spec, async (_, context) => {
      await database.db.transaction(
        async (tx) => {
          await context.finalize(tx, done());
          await tx.execute(`insert into effects values (1)`);
        },
        { isolationLevel: "repeatable read" },
      );
    });
    await observed.worker.drain();
    expect(await rowOf(database.db, id)).toMatchObject({ status: "completed" });
  });
});
