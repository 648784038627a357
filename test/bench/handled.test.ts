import { expect, test } from "vitest";
import { bench } from "./modules.ts";

const { checkAtMostOnce, checkOnce } = await bench("scenarios/handled.ts");

/** What a worker saw: how often each task was handled. */
const worker = (...times: number[]) => ({ seen: Uint8Array.from(times) });

test("each task was handled once, by whichever worker", () => {
  expect(() => checkOnce([worker(1, 1, 1)], 3)).not.toThrow();
  expect(() => checkOnce([worker(1, 0, 1), worker(0, 1, 0)], 3)).not.toThrow();
});

test("tasks that were lost or handled twice are counted", () => {
  expect(() => checkOnce([worker(1, 0, 1)], 3)).toThrow("1 of 3 tasks were not handled exactly once.");
  expect(() => checkOnce([worker(1, 2, 0)], 3)).toThrow("2 of 3 tasks");
  expect(() => checkOnce([worker(1, 1, 0), worker(0, 1, 1)], 3)).toThrow("1 of 3 tasks");
  expect(() => checkOnce([], 3)).toThrow("3 of 3 tasks");
});

test("where work goes on at the end, a task may be left over, but none is handled twice", () => {
  expect(() => checkAtMostOnce([worker(1, 0, 1), worker(0, 0, 0)])).not.toThrow();
  expect(() => checkAtMostOnce([worker(1, 0, 2)])).toThrow("1 tasks were handled more than once.");
  expect(() => checkAtMostOnce([worker(1, 1, 0), worker(1, 1, 0)])).toThrow("2 tasks were handled more than once.");
});
