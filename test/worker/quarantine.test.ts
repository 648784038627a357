import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Place, Quarantine } from "../../src/worker/quarantine.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Whoever has the place, as they came. */
function entering(quarantine: Quarantine, count: number): Place[] {
  const places: Place[] = [];
  for (let n = 0; n < count; n++) void quarantine.enter().then((place) => (places[n] = place));
  return places;
}
const turn = () => vi.advanceTimersByTimeAsync(0);

test("has place for one, and the next is who asked first", async () => {
  const onFree = vi.fn();
  const quarantine = new Quarantine(onFree);
  expect(quarantine.isFree).toBe(true);
  const places = entering(quarantine, 3);
  expect(quarantine.isFree).toBe(false);
  for (const n of [0, 1, 2]) {
    await turn();
    expect(places.length).toBe(n + 1);
    expect(quarantine.isFree).toBe(false);
    expect(onFree).not.toHaveBeenCalled();
    places[n]!.leave();
  }
  expect(quarantine.isFree).toBe(true);
  expect(onFree).toHaveBeenCalledOnce();
});

test("is free again after the time, whoever is in it; leaving later frees nobody else's place", async () => {
  const onFree = vi.fn();
  const quarantine = new Quarantine(onFree);
  const places = entering(quarantine, 2);
  await turn();
  places[0]!.leaveAfter(1_000);
  await vi.advanceTimersByTimeAsync(999);
  expect(places.length).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(places.length).toBe(2);
  places[0]!.leave();
  expect(quarantine.isFree).toBe(false);
  places[1]!.leaveAfter(1_000);
  places[1]!.leave();
  expect(quarantine.isFree).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  expect(onFree).toHaveBeenCalledOnce();
});
