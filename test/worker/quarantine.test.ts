import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Quarantine } from "../../src/worker/quarantine.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("has place for one, and says when it is free again", () => {
  const onFree = vi.fn();
  const quarantine = new Quarantine(onFree);
  const leave = quarantine.enter(1_000);
  expect(quarantine.isFree).toBe(false);
  expect(quarantine.enter(1_000)).toBeUndefined();
  expect(onFree).not.toHaveBeenCalled();
  leave!();
  expect(onFree).toHaveBeenCalledOnce();
  expect(quarantine.isFree).toBe(true);
  expect(quarantine.enter(1_000)).toBeTypeOf("function");
});

test("is free again after the time, whoever was in it; leaving later frees nobody else's place", () => {
  const onFree = vi.fn();
  const quarantine = new Quarantine(onFree);
  const leave = quarantine.enter(1_000)!;
  vi.advanceTimersByTime(999);
  expect(quarantine.isFree).toBe(false);
  vi.advanceTimersByTime(1);
  expect(quarantine.isFree).toBe(true);
  quarantine.enter(1_000);
  leave();
  expect(quarantine.isFree).toBe(false);
  expect(onFree).toHaveBeenCalledOnce();
});
