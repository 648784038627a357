import { afterEach, expect, test, vi } from "vitest";
import { endsWithin, pause } from "../../src/worker/pause.ts";

const never = new AbortController().signal;
afterEach(() => void vi.useRealTimers());

test("pauses, or ends early when the signal fires", async () => {
  const began = performance.now();
  await pause(20, never);
  expect(performance.now() - began).toBeGreaterThan(15);

  const quit = new AbortController();
  const pausing = pause(60_000, quit.signal);
  quit.abort();
  await pausing;
  await pause(60_000, quit.signal);
  expect(performance.now() - began).toBeLessThan(10_000);
});

test("a pause of a hundred years does not end at once", async () => {
  const quit = new AbortController();
  let isOver = false;
  const pausing = pause(2 ** 41, quit.signal).then(() => {
    isOver = true;
  });
  await pause(20, never);
  expect(isOver).toBe(false);
  quit.abort();
  await pausing;
});

test("tells whether a promise ends in time, however it ends", async () => {
  expect(await endsWithin(60_000, Promise.resolve())).toBe(true);
  expect(await endsWithin(60_000, Promise.reject(new Error("refused")))).toBe(true);
  expect(await endsWithin(5, new Promise(() => {}))).toBe(false);
});
