import { expect, test, vi } from "vitest";
import { Ahead } from "../../src/worker/ahead.ts";
import type { Run } from "../../src/worker/run.ts";

const run = (id: number) => ({ task: { id } }) as Run;
const never = () => {
  throw new Error("nothing has waited too long");
};
const idOf = (taken: { run: Run } | undefined) => taken?.run.task.id;

test("hands out in the order of arrival, and tells the place that each had", () => {
  const ahead = new Ahead(60_000, never);
  ahead.add([run(1), run(2)]);
  expect(ahead.next()).toMatchObject({ run: run(1), place: 1 });
  ahead.add([run(3)]);
  expect(ahead.size).toBe(2);
  expect(ahead.next()).toMatchObject({ run: run(2), place: 2 });
  expect(ahead.next()).toMatchObject({ run: run(3), place: 2 });
  expect(ahead.next()).toBeUndefined();
  expect(ahead.size).toBe(0);
});

test("takes out those that have waited too long", () => {
  vi.useFakeTimers();
  const tired: number[][] = [];
  const ahead = new Ahead(100, (runs) => tired.push(runs.map(({ task }) => task.id)));
  ahead.add([run(1), run(2)]);
  vi.advanceTimersByTime(50);
  ahead.add([run(3)]);
  expect(idOf(ahead.next())).toBe(1);
  vi.advanceTimersByTime(50);
  expect(tired).toEqual([]);
  vi.advanceTimersByTime(5);
  expect(tired).toEqual([[2]]);
  vi.advanceTimersByTime(50);
  expect(tired).toEqual([[2], [3]]);
  ahead.add([run(4)]);
  vi.advanceTimersByTime(105);
  expect(tired).toEqual([[2], [3], [4]]);
  expect(ahead.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("hands out all that wait when it closes, and keeps no timer", () => {
  vi.useFakeTimers();
  const ahead = new Ahead(100, never);
  ahead.add([run(1), run(2)]);
  ahead.next();
  expect(ahead.close().map(({ task }) => task.id)).toEqual([2]);
  expect(ahead.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("tells when few are left, each watcher by its own number", async () => {
  const ahead = new Ahead(60_000, never);
  ahead.add([1, 2, 3, 4].map(run));
  const told: number[] = [];
  const watching = [2, 0].map((most) => ahead.low(most).then(() => told.push(most)));
  const step = async () => {
    ahead.next();
    await Promise.resolve();
    return told.slice();
  };
  expect(await step()).toEqual([]);
  expect(await step()).toEqual([2]);
  expect(await step()).toEqual([2]);
  expect(await step()).toEqual([2, 0]);
  await Promise.all(watching);
  await ahead.low(0);
});

test("keeps neither what was handed out nor a timer once all is", () => {
  vi.useFakeTimers();
  const ahead = new Ahead(100, never);
  ahead.add([run(1), run(2)]);
  ahead.next();
  expect(vi.getTimerCount()).toBe(1);
  ahead.next();
  expect(vi.getTimerCount()).toBe(0);
  ahead.add([run(3)]);
  expect(vi.getTimerCount()).toBe(1);
  expect(ahead.next()).toMatchObject({ run: run(3), place: 1 });
  vi.useRealTimers();
});
