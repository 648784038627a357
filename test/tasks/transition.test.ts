import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { defineJob, defineTicker } from "../../src/tasks/define.ts";
import { longestDuration } from "../../src/tasks/duration.ts";
import { done, fail, type Result, retry, skip } from "../../src/tasks/result.ts";
import type { JobSpec, TickerSpec } from "../../src/tasks/spec.ts";
import { type Attempt, transition } from "../../src/tasks/transition.ts";

const error = new Error("no");
const failure = { name: "Error", message: "no" };
const payload = v.object({ cursor: v.number() });

const job = (options: object = {}): JobSpec =>
  defineJob({ queue: "q", payload, maxRetries: 3, retryDelay: 1_000, ...options });
const ticker = (options: object = {}): TickerSpec =>
  defineTicker({
    queue: "q",
    key: "k",
    payload,
    initialPayload: { cursor: 0 },
    every: 60_000,
    maxRetries: 3,
    retryDelay: 1_000,
    ...options,
  });

describe("the table of results", () => {
  const early = { attempt: 2, maxRetries: null };
  const last = { attempt: 4, maxRetries: null };
  const pending = { status: "pending", keepsPayload: false, releasesHash: false };
  const failed = { status: "failed", delay: null, keepsPayload: false, failure };
  const again = { ...pending, delay: 60_000, attempt: 0 };

  test.each<[string, Result, Attempt, object]>([
    [
      "done()",
      done(),
      early,
      { status: "completed", delay: null, attempt: 2, keepsPayload: true, output: { value: null } },
    ],
    [
      "done(output)",
      done({ n: 1 }),
      last,
      { status: "completed", delay: null, attempt: 4, keepsPayload: true, output: { value: { n: 1 } } },
    ],
    ["retry, tries left", retry(error), early, { ...pending, delay: 2_000, attempt: 2, failure }],
    [
      "retry, the last but one",
      retry(error),
      { ...early, attempt: 3 },
      { ...pending, delay: 3_000, attempt: 3, failure },
    ],
    ["retry, none left", retry(error), last, { ...failed, attempt: 4 }],
    ["fail, tries left", fail(error), early, { ...failed, attempt: 2 }],
    ["fail, none left", fail(error), last, { ...failed, attempt: 4 }],
    ["skip is as fail, tries left", skip(error), early, { ...failed, attempt: 2 }],
    ["skip is as fail, none left", skip(error), last, { ...failed, attempt: 4 }],
  ])("job: %s", (_, result, run, expected) => {
    const { failure: recorded, ...next } = transition(job(), run, result);
    expect({ ...next, ...(recorded && { failure: withoutStack(recorded) }) }).toStrictEqual({
      isDeleted: false,
      releasesHash: false,
      ...expected,
    });
    const ends = (expected as { status: string }).status !== "pending";
    expect(transition(job({ dedup: "active" }), run, result).releasesHash).toBe(ends);
  });

  test.each<[string, Result, Attempt, object]>([
    ["done()", done(), early, { ...again, keepsPayload: true, output: { value: null } }],
    ["done(output)", done(7), last, { ...again, keepsPayload: true, output: { value: 7 } }],
    ["retry, tries left", retry(error), early, { ...pending, delay: 2_000, attempt: 2, failure }],
    ["retry, none left", retry(error), last, { ...again, failure }],
    ["fail, tries left", fail(error), early, { ...failed, attempt: 2, releasesHash: false }],
    ["fail, none left", fail(error), last, { ...failed, attempt: 4, releasesHash: false }],
    ["skip, tries left", skip(error), early, { ...again, keepsPayload: true, failure }],
    ["skip, none left", skip(error), last, { ...again, keepsPayload: true, failure }],
  ])("ticker: %s", (_, result, run, expected) => {
    const { failure: recorded, ...next } = transition(ticker(), run, result);
    expect({ ...next, ...(recorded && { failure: withoutStack(recorded) }) }).toStrictEqual({
      isDeleted: false,
      ...expected,
    });
  });

  test.each([
    [{ completed: 0 }, [true, false, false]],
    [{ failed: 0 }, [false, true, false]],
    [{ completed: 0, failed: 0 }, [true, true, false]],
    [{ completed: 1, failed: "1d" }, [false, false, false]],
    [undefined, [false, false, false]],
  ])("retained %j: done, failed and retried rows go at once: %j", (retain, gone) => {
    const results = [done(), fail(error), retry(error)];
    expect(results.map((result) => transition(job({ retain }), early, result).isDeleted)).toEqual(gone);
    expect(results.some((result) => transition(ticker(), early, result).isDeleted)).toBe(false);
  });

  test("an output is what was returned, null where there was none", () => {
    for (const output of [null, 0, "", false, [], { a: 1 }]) {
      expect(transition(job(), early, done(output)).output).toStrictEqual({ value: output });
    }
    expect(transition(job(), early, { type: "done" }).output).toStrictEqual({ value: null });
  });
});

describe("tries", () => {
  test.each([
    [0, null, 1, false],
    [3, null, 3, true],
    [3, null, 4, false],
    [3, 0, 1, false],
    [0, 1, 1, true],
    [0, 1, 2, false],
    [3, 10, 10, true],
    [3, 10, 11, false],
  ])("spec %i, task %s: after try %i there are some left: %s", (maxRetries, own, attempt, left) => {
    const run = { attempt, maxRetries: own };
    expect(transition(job({ maxRetries }), run, retry(error)).status).toBe(left ? "pending" : "failed");
    expect(transition(ticker({ maxRetries }), run, retry(error)).attempt).toBe(left ? attempt : 0);
  });

  test("CASES 24: the delay neither overflows nor passes a hundred years", () => {
    const spec = job({ maxRetries: 32_767, retryDelay: longestDuration });
    for (const attempt of [1, 2, 32_767]) {
      expect(transition(spec, { attempt, maxRetries: null }, retry(error)).delay).toBe(longestDuration);
    }
    const daily = job({ maxRetries: 32_767, retryDelay: "1d" });
    expect(transition(daily, { attempt: 32_767, maxRetries: null }, retry(error)).delay).toBe(32_767 * 86_400_000);
  });
});

describe("runs in a row", () => {
  /** What each of so many runs makes of a row, all with the same result. */
  function runs(spec: JobSpec | TickerSpec, result: Result, count: number, maxRetries: number | null = null) {
    let attempt = 0;
    const transitions = [];
    for (let run = 0; run < count; run++) {
      const next = transition(spec, { attempt: attempt + 1, maxRetries }, result);
      transitions.push(next);
      attempt = next.attempt;
      if (next.status !== "pending") break;
    }
    return transitions;
  }

  test("a job that always fails is tried once and then maxRetries times", () => {
    const ends = runs(job(), retry(error), 100);
    expect(ends.map(({ status, delay }) => [status, delay])).toEqual([
      ["pending", 1_000],
      ["pending", 2_000],
      ["pending", 3_000],
      ["failed", null],
    ]);
    expect(runs(job({ maxRetries: 0 }), retry(error), 100)).toHaveLength(1);
    expect(runs(job(), retry(error), 100, 7)).toHaveLength(8);
  });

  test("CASES 19: a ticker out of tries is rescheduled at every, its payload untouched, the error kept", () => {
    const last = runs(ticker(), retry(error), 4)[3];
    expect(last).toMatchObject({ status: "pending", delay: 60_000, keepsPayload: false, failure });
  });

  test("CASES 35: a ticker that failed all its tries has all of them again in the next period", () => {
    const period = [1_000, 2_000, 3_000, 60_000];
    const ends = runs(ticker(), retry(error), 12);
    expect(ends.map(({ delay }) => delay)).toEqual([...period, ...period, ...period]);
    expect(ends.every(({ status, keepsPayload }) => status === "pending" && !keepsPayload)).toBe(true);
  });

  test("a period that ended in done or skip leaves nothing charged", () => {
    for (const result of [done(), skip(error)]) {
      expect(transition(ticker(), { attempt: 4, maxRetries: null }, result).attempt).toBe(0);
    }
  });
});

describe("properties", () => {
  const policy = {
    maxRetries: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 32_767 })),
    retryDelay: fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: longestDuration })),
  };
  // Options and not specs, so that a counterexample does not print a whole schema.
  const anyOptions = fc.oneof(
    fc.record({ ...policy, dedup: fc.constantFrom("retained", "active") }),
    fc.record({ ...policy, every: fc.integer({ min: 1, max: longestDuration }) }),
  );
  const specOf = (options: object) => ("every" in options ? ticker(options) : job(options));
  const anyRun = fc.record({
    attempt: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 2 ** 31 - 1 })),
    maxRetries: fc.option(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 32_767 }))),
  });
  const anyResult: fc.Arbitrary<Result> = fc.oneof(
    fc.jsonValue().map(done),
    fc.anything().map(retry),
    fc.anything().map(fail),
    fc.anything().map(skip),
  );

  test("each result leads where the table says, for any spec and any run", () => {
    fc.assert(
      fc.property(anyOptions, anyRun, anyResult, (options, run, result) => {
        const spec = specOf(options);
        const next = transition(spec, run, result);
        const isTicker = spec.kind === "ticker";
        const isOver = run.attempt > (run.maxRetries ?? spec.maxRetries);
        const triesAgain = result.type === "retry" && !isOver;
        const ticksAgain = isTicker && !triesAgain && result.type !== "fail";

        if (triesAgain) {
          expect(next).toMatchObject({ status: "pending", attempt: run.attempt });
          expect(next.delay).toBe(Math.min(run.attempt * spec.retryDelay, longestDuration));
        } else if (ticksAgain) {
          expect(next).toMatchObject({ status: "pending", attempt: 0, delay: (spec as TickerSpec).every });
        } else {
          expect(next).toMatchObject({ attempt: run.attempt, delay: null });
          expect(next.status).toBe(result.type === "done" ? "completed" : "failed");
        }

        expect(next.keepsPayload).toBe(result.type === "done" || (isTicker && result.type === "skip"));
        expect(next.failure === undefined).toBe(result.type === "done");
        expect(next.output !== undefined).toBe(result.type === "done");
        expect(next.releasesHash).toBe(next.status !== "pending" && (spec.kind === "job" && spec.dedup) === "active");
      }),
      { numRuns: 2_000 },
    );
  });

  test("the next run is never in the past, nor beyond what timestamptz holds", () => {
    fc.assert(
      fc.property(anyOptions, anyRun, anyResult, (options, run, result) => {
        const spec = specOf(options);
        const { delay, status } = transition(spec, run, result);
        if (status !== "pending") {
          expect(delay).toBeNull();
          return;
        }
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(longestDuration);
      }),
      { numRuns: 2_000 },
    );
  });

  test("a completed job and a failed one stay so: no result of a job leads to more tries than it has", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30 }), fc.option(fc.integer({ min: 0, max: 30 })), (maxRetries, own) => {
        const spec = job({ maxRetries });
        let run = { attempt: 1, maxRetries: own };
        for (;;) {
          const next = transition(spec, run, retry(error));
          if (next.status !== "pending") break;
          run = { ...run, attempt: next.attempt + 1 };
        }
        expect(run.attempt).toBe((own ?? maxRetries) + 1);
      }),
    );
  });

  test("it changes none of its arguments, and says the same again", () => {
    fc.assert(
      fc.property(
        anyOptions,
        anyRun,
        fc.constantFrom(done(1), retry("x"), fail("x"), skip("x")),
        (options, run, result) => {
          const spec = specOf(options);
          const first = transition(spec, Object.freeze(run), Object.freeze(result));
          expect(transition(spec, run, result)).toStrictEqual(first);
        },
      ),
    );
  });
});

function withoutStack({ stack: _, ...rest }: { stack?: string }): object {
  return rest;
}
