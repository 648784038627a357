import { expect, test } from "vitest";
import { bench } from "./modules.ts";

const { percentile, summarize } = await bench("statistics.ts");

test("a percentile lies between the two nearest samples, whatever their order", () => {
  expect(percentile([30, 10, 20], 50)).toBe(20);
  expect(percentile([40, 10, 30, 20], 50)).toBe(25);
  expect(percentile([10, 20], 99)).toBeCloseTo(19.9);
  expect(percentile([2, 10, 1], 0)).toBe(1);
  expect(percentile([2, 10, 1], 100)).toBe(10);
  expect(percentile([7], 95)).toBe(7);
  expect(percentile([], 50)).toBeNaN();
});

test("a summary has the median, the ends, and the samples in the order of the repetitions", () => {
  expect(summarize([30, 10, 100])).toEqual({ median: 30, min: 10, max: 100, samples: [30, 10, 100] });
});
