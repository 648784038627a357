import { expect, test } from "vitest";
import { soak } from "./soaking.ts";

test("processes and server are killed at random, and every task is accounted for", { timeout: 120_000 }, async () => {
  const { offenders, tasks, runs, faults } = await soak({
    duration: 10_000,
    tasks: 1_500,
    workers: 3,
    seed: 20_261_129,
  });
  expect(offenders).toEqual([]);
  expect(tasks).toBe(1_500);
  expect(runs).toBeGreaterThan(1_500);
  expect(Object.keys(faults).length).toBeGreaterThan(1);
});
