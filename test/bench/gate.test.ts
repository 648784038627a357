import { expect, test } from "vitest";
import { bench } from "./modules.ts";

const { allScenarios } = await bench("scenarios/all.ts");
const { scenarioResult } = await bench("results.ts");
const { gate, gatedScenarios, notGated } = await bench("gate.ts");

type Samples = (contender: { name: string; side: string }) => number[] | undefined;

/** The gate's rows after a run in which all that was measured of a contender are these samples, or it failed. */
function rowsAfter(samplesOf: Samples, names?: readonly string[]): { row: string; required: string; ok: boolean }[] {
  const chosen = allScenarios(false).filter(({ name }: { name: string }) => names?.includes(name) ?? true);
  const scenarios = chosen.map((scenario: any) => {
    const metrics = [...new Set(scenario.comparisons.map(({ metric }: { metric: string }) => metric))];
    const measured = scenario.contenders.map((contender: { name: string; side: string }) => {
      const samples = samplesOf(contender);
      const figures = samples?.map((value) => Object.fromEntries(metrics.map((metric) => [metric, value])));
      return [contender.name, figures ? { figures } : { error: "failed" }];
    });
    return scenarioResult(scenario, new Map(measured), () => ({}));
  });
  return gate({ scenarios });
}

test("the gate has a row for each promise", () => {
  const rows = rowsAfter(() => [1]).map(({ row, required, ok }) => `${row} ${required}: ${ok ? "reached" : "missed"}`);
  expect(rows).toMatchInlineSnapshot(`
    [
      "trivial tasks: pgqueue to graphile-worker >= 1.5: missed",
      "trivial tasks: pgqueue to pg-boss >= 2.5: missed",
      "trivial tasks by default settings: pgqueue to graphile-worker >= 5: missed",
      "trivial tasks by default settings: pgqueue to pg-boss >= 5: missed",
      "enqueueMany: pgqueue to graphile-worker >= 3: missed",
      "enqueueMany: pgqueue to pg-boss >= 3: missed",
      "enqueue with 10 callers: pgqueue to graphile-worker >= 1.2: missed",
      "enqueue with 10 callers: pgqueue to pg-boss >= 1.2: missed",
      "latency, median: pgqueue to graphile-worker <= 1: reached",
      "latency, p99: pgqueue to graphile-worker <= 1: reached",
      "the worker: pgqueue to floor >= 0.85: reached",
      "a pinned xmin: pgqueue, pinned to pgqueue >= 0.9: reached",
      "claim time beside other rows: pgqueue, 1,000,000 completed to pgqueue, nothing else <= 1.5: reached",
      "claim time beside other rows: pgqueue, 1,000,000 failed to pgqueue, nothing else <= 1.5: reached",
      "claim time beside other rows: pgqueue, 1,000,000 future to pgqueue, nothing else <= 1.5: reached",
      "a large backlog: pgqueue, 1,000,000 due to pgqueue, 10,000 due >= 0.9: reached",
      "memory with a large backlog: pgqueue, 1,000,000 due to pgqueue, 10,000 due <= 1.1: reached",
    ]
  `);
});

test("what is reached is the median of the ratios of each repetition", () => {
  const enqueue = (pgqueue: number[], peer: number[]) =>
    rowsAfter(({ side }) => (side === "pgqueue" ? pgqueue : peer), ["enqueue-10"]).map(({ ok }) => ok);
  expect(enqueue([1, 12, 300], [10, 10, 200])).toEqual([true, true]);
  expect(enqueue([1, 11.9, 300], [10, 10, 200])).toEqual([false, false]);
  // Medians of the samples would be 12 and 10.
  expect(enqueue([12, 12, 1], [1, 100, 10])).toEqual([false, false]);
});

test("what failed is missed, and what was not run is not asked for", () => {
  const rows = rowsAfter(({ side }) => (side === "pg-boss" ? undefined : [1]), ["enqueue-10", "latency"]);
  expect(rows.map(({ row, ok }) => [row, ok])).toEqual([
    ["enqueue with 10 callers: pgqueue to graphile-worker", false],
    ["enqueue with 10 callers: pgqueue to pg-boss", false],
    ["latency, median: pgqueue to graphile-worker", true],
    ["latency, p99: pgqueue to graphile-worker", true],
  ]);
});

test("a scenario that failed in part has all its rows", () => {
  const rows = rowsAfter(({ name }) => (name.includes("failed") ? undefined : [1]), ["claim"]);
  expect(rows.map(({ row, ok }) => [row.split(": ")[1], ok])).toEqual([
    ["pgqueue, 1,000,000 completed to pgqueue, nothing else", true],
    ["pgqueue, 1,000,000 failed to pgqueue, nothing else", false],
    ["pgqueue, 1,000,000 future to pgqueue, nothing else", true],
  ]);
  expect(rowsAfter(({ name }) => (name.includes("nothing") ? undefined : [1]), ["claim"]).map(({ ok }) => ok)).toEqual([
    false,
    false,
    false,
  ]);
});

test("what was not measured is named", () => {
  const without = (...names: string[]) => ({
    scenarios: allScenarios(true).filter(({ name }: { name: string }) => !names.includes(name)),
  });
  expect(notGated(without())).toEqual([]);
  expect(notGated(without("slow-handlers", "enqueue"))).toEqual([]);
  expect(notGated(without("backlog", "process-default"))).toEqual([
    "trivial tasks by default settings, to graphile-worker (process-default)",
    "trivial tasks by default settings, to pg-boss (process-default)",
    "a large backlog, to pgqueue (backlog)",
    "memory with a large backlog, to pgqueue (backlog)",
  ]);
  expect(notGated({ scenarios: [] })).toHaveLength(15);
  expect(notGated(without(...gatedScenarios))).toHaveLength(15);
});
