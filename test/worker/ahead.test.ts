import { expect, test } from "vitest";
import { Ahead } from "../../src/worker/ahead.ts";
import type { Run } from "../../src/worker/run.ts";

const run = (id: number) => ({ task: { id } }) as Run;
const idOf = (taken: { run: Run } | undefined) => taken?.run.task.id;

test("hands out in the order of arrival, and tells the place that each had", () => {
  const ahead = new Ahead();
  ahead.add([run(1), run(2)]);
  expect(ahead.next()).toMatchObject({ run: run(1), place: 1 });
  ahead.add([run(3)]);
  expect(ahead.size).toBe(2);
  expect(ahead.next()).toMatchObject({ run: run(2), place: 2 });
  expect(ahead.next()).toMatchObject({ run: run(3), place: 2 });
  expect(ahead.next()).toBeUndefined();
  expect(ahead.size).toBe(0);
});

test("takes out those that came before a moment", async () => {
  const ahead = new Ahead();
  ahead.add([run(1), run(2)]);
  const moment = performance.now() + 0.001;
  while (performance.now() <= moment);
  ahead.add([run(3)]);
  expect(ahead.takeBefore(moment).map((run) => run.task.id)).toEqual([1, 2]);
  expect(idOf(ahead.next())).toBe(3);
  expect(ahead.takeBefore(Number.POSITIVE_INFINITY)).toEqual([]);
  expect(ahead.since).toBeUndefined();
});

test("tells when few are left, each watcher by its own number", async () => {
  const ahead = new Ahead();
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
