import { expect, test } from "vitest";
import { BatchSize } from "../../src/worker/batch-size.ts";

test("is halved by what failed, down to one, and grows again to the most", () => {
  const size = new BatchSize(100);
  size.failed(100);
  expect(size.current).toBe(50);
  size.failed(7);
  expect(size.current).toBe(3);
  for (let n = 0; n < 5; n++) size.failed(size.current);
  expect(size.current).toBe(1);
  const grown = Array.from({ length: 40 }, () => {
    size.succeeded(size.current);
    return size.current;
  });
  expect(grown.slice(0, 8)).toEqual([1, 1, 1, 2, 3, 3, 4, 5]);
  expect(grown.at(-1)).toBe(100);
});

test("is not made larger by the failure of one that was sent before", () => {
  const size = new BatchSize(1_000);
  size.failed(10);
  size.failed(1_000);
  expect(size.current).toBe(5);
});

test("may begin lower", () => {
  const size = new BatchSize(1_000, 100);
  expect(size.current).toBe(100);
  size.succeeded(100);
  expect(size.current).toBe(200);
});

test("is not made larger by what was smaller anyway", () => {
  const size = new BatchSize(1_000);
  size.failed(800);
  for (let n = 0; n < 20; n++) size.succeeded(399);
  expect(size.current).toBe(400);
  size.succeeded(400);
  expect(size.current).toBe(500);
});
