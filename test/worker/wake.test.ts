import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Wake } from "../../src/worker/wake.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

async function isOver(wait: Promise<void>): Promise<boolean> {
  let over = false;
  void wait.then(() => {
    over = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return over;
}

test("ends a wait at a call, and leaves no timer", async () => {
  const wake = new Wake();
  const waiting = wake.wait(60_000);
  expect(await isOver(waiting)).toBe(false);
  wake.call();
  expect(await isOver(waiting)).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("ends a wait when its time is over", async () => {
  const waiting = new Wake().wait(1_000);
  await vi.advanceTimersByTimeAsync(999);
  expect(await isOver(waiting)).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await isOver(waiting)).toBe(true);
});

test("keeps a call that nobody waited for, once", async () => {
  const wake = new Wake();
  wake.call();
  wake.call();
  expect(await isOver(wake.wait(60_000))).toBe(true);
  expect(await isOver(wake.wait(60_000))).toBe(false);
});

test("waits longer than a timer of Node can, instead of not at all", async () => {
  const waiting = new Wake().wait(2 ** 40);
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(await isOver(waiting)).toBe(false);
});
