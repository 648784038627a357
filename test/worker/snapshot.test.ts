import { describe, expect, test } from "vitest";
import { changeDetector } from "../../src/worker/snapshot.ts";

test("sees a change at any depth of the very object it was given", () => {
  const value = { list: [{ deep: { n: 1 } }], text: "a" };
  const wasChanged = changeDetector(value);
  expect(wasChanged(value)).toBe(false);
  value.list[0]!.deep.n = 2;
  expect(wasChanged(value)).toBe(true);
  value.list[0]!.deep.n = 1;
  expect(wasChanged(value)).toBe(false);
});

describe("sees", () => {
  test.each<[string, unknown, unknown]>([
    ["an added key", { a: 1 }, { a: 1, b: undefined }],
    ["a removed key", { a: 1, b: 2 }, { a: 1 }],
    ["another value", 1, 2],
    ["null for undefined", undefined, null],
    ["a Date that moved", new Date(0), new Date(1)],
    ["a Map's entry", new Map([["a", 1]]), new Map([["a", 2]])],
    ["a value that can no longer be stored", { a: 1 }, { a: () => 1 }],
  ])("%s", (_, before, after) => {
    expect(changeDetector(before)(after)).toBe(true);
    expect(changeDetector(before)(before)).toBe(false);
  });
});

test("an equal value in place of the old one is no change", () => {
  expect(changeDetector({ a: [1, "x", null, 1.5] })({ a: [1, "x", null, 1.5] })).toBe(false);
});

test("a value that cannot be serialized counts as unchanged", () => {
  const value = { run: () => 1, n: 1 };
  const wasChanged = changeDetector(value);
  value.n = 2;
  expect(wasChanged(value)).toBe(false);
});
