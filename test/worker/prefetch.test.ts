import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Host } from "../../src/worker/host.ts";
import { Prefetch } from "../../src/worker/prefetch.ts";
import { Quarantine } from "../../src/worker/quarantine.ts";
import { Runner } from "../../src/worker/runner.ts";
import type { Settler } from "../../src/worker/settler.ts";
import { Slots } from "../../src/worker/slots.ts";
import { job } from "../queries/jobs.ts";

const lease = 300_000;
const after = (durations: number[], concurrency = 10, leaseDuration = lease) => {
  const prefetch = new Prefetch(concurrency, leaseDuration);
  for (const duration of durations) prefetch.ran(duration);
  return prefetch;
};

test("claims nothing ahead before the first run has ended", () => {
  expect(new Prefetch(500, lease).target).toBe(0);
});

test.each([
  ["hundreds ahead of handlers that take no time", 0.02, 2_000],
  ["as many as ten handlers of 5 ms begin in 50 ms", 5, 100],
  ["none ahead of handlers of a second", 1_000, 0],
])("claims %s", (_, duration, target) => {
  expect(after([duration, duration, duration]).target).toBe(target);
});

test("one slow run ends it, and it takes many fast ones to begin again", () => {
  const prefetch = after([0.1]);
  prefetch.ran(10_000);
  expect(prefetch.target).toBe(0);
  for (let i = 0; i < 20; i++) prefetch.ran(0.1);
  expect(prefetch.target).toBe(0);
  for (let i = 0; i < 300; i++) prefetch.ran(0.1);
  expect(prefetch.target).toBe(2_000);
});

test("nothing waits longer than a small part of a short lease", () => {
  expect(after([1], 10, 1_000).target).toBe(200);
  expect(after([1], 10, 50).target).toBe(10);
});

test("claims as many ahead as there is memory for, by how large payloads were lately", () => {
  const prefetch = after([0.02, 0.02]);
  for (let n = 0; n < 20; n++) prefetch.weighed(100);
  expect(prefetch.target).toBe(2_000);
  prefetch.weighed(1_000_000);
  expect(prefetch.target).toBe(16);
  prefetch.weighed(40_000_000);
  expect(prefetch.target).toBe(0);
  for (let n = 0; n < 500; n++) prefetch.weighed(100);
  expect(prefetch.target).toBe(2_000);
});

describe("handlers that block each other", () => {
  test("are as slow as those that were claimed ahead of them had to wait", () => {
    // Each says that it takes 20 ms, but only one of them runs at a time.
    const prefetch = after([20, 20, 20]);
    expect(prefetch.target).toBe(25);
    for (let place = 1; place <= 25; place++) prefetch.waited(20 * place, place);
    expect(prefetch.target).toBeLessThanOrEqual(3);
  });
});

test("however long runs take: never negative, never more than two thousand, and none at all where each outlasts the wait", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1e7, noNaN: true })),
      fc.integer({ min: 1, max: 10_000 }),
      (runs, n) => {
        const { target } = after(runs, n);
        expect(target).toBeGreaterThanOrEqual(0);
        expect(target).toBeLessThanOrEqual(2_000);
        if (runs.every((duration) => duration > 50 * n)) expect(target).toBe(0);
      },
    ),
  );
});

test("claims that found nothing tell nothing of the payloads to come", () => {
  const { signal } = new AbortController();
  const spec = job();
  const prefetch = after([0.02, 0.02]);
  prefetch.weighed(8_000_000);
  const slots = new Slots(1);
  const host = { closing: signal, closed: signal } as Host;
  const shared = {
    slots,
    prefetch,
    quarantine: new Quarantine(() => {}),
    settler: {} as Settler,
    onReturned: () => {},
  };
  const runner = new Runner(host, { spec, handler: () => {} }, shared);
  for (let n = 0; n < 100; n++) runner.start([], 0, 0);
  expect(prefetch.target).toBe(2);
});
