import { expect, test } from "vitest";
import type { Claimed } from "../../src/queries/claimed.ts";
import { done, retry } from "../../src/tasks/result.ts";
import { weightOf } from "../../src/worker/weight.ts";

const task = {} as Claimed;
const text = "x".repeat(1_000);

test("an outcome weighs what its output and its changed payload take as JSON", () => {
  expect(weightOf({ task, result: done() })).toBe(0);
  expect(weightOf({ task, result: done({ text }) })).toBe(1_011);
  expect(weightOf({ task, result: retry("no"), payload: { text } })).toBe(1_011);
  expect(weightOf({ task, result: done({ text }), payload: [text, text] })).toBe(1_011 + 2_007);
});

test("what has no JSON weighs nothing", () => {
  expect(weightOf({ task, result: done(1n) })).toBe(0);
});
