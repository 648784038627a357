import { expect, test } from "vitest";
import { Watermark } from "../../src/worker/watermark.ts";

const task = (id: number, at: string, priority = 0) => ({
  priority,
  runAt: new Date(at),
  exactRunAt: at.replace("T", " ").replace("Z", "+00"),
  id,
});

function clocked() {
  const clock = { now: 0 };
  const watermark = new Watermark(() => clock.now);
  /** A claim that takes so many milliseconds. */
  const claim = (tasks: ReturnType<typeof task>[], limit: number, took = 1) => {
    const after = watermark.next();
    const sentAt = clock.now;
    clock.now += took;
    watermark.passed(tasks, { after, limit, sentAt });
    return after;
  };
  return { clock, watermark, claim };
}

const nine = task(9, "2026-01-01T00:00:00.000009Z");
const ten = task(10, "2026-01-01T00:00:00.00001Z");
const mark = ({ priority, exactRunAt, id }: typeof nine) => ({ priority, exactRunAt, id });

test("goes on after the last task of a full batch, to the microsecond", () => {
  const { watermark, claim } = clocked();
  expect(claim([ten, nine], 2)).toEqual([]);
  expect(watermark.next()).toEqual([mark(ten)]);
});

test("tells equal run times apart by id, however the rows came", () => {
  const { watermark, claim } = clocked();
  const same = [7, 30, 8].map((id) => task(id, "2026-01-01T00:00:00Z"));
  claim(same, 3);
  expect(watermark.next()).toEqual([mark(same[1]!)]);
});

test("knows each level of priority by itself, and keeps those that a claim did not come to", () => {
  const { watermark, claim } = clocked();
  const low = task(1, "2026-01-01T00:00:05Z", 4);
  claim([nine, low], 2);
  claim([ten], 1);
  expect(watermark.next()).toEqual([mark(ten), mark(low)]);
});

test("begins at the front after a batch that was not filled", () => {
  const { watermark, claim } = clocked();
  claim([nine], 1);
  claim([], 1);
  expect(watermark.next()).toEqual([]);
});

test("begins at the front when tasks are given back", () => {
  const { watermark, claim } = clocked();
  claim([nine], 1);
  watermark.reset();
  expect(watermark.next()).toEqual([]);
  claim([nine], 1);
  expect(watermark.next()).toEqual([mark(nine)]);
});

test("begins at the front after a second, although each batch is full", () => {
  const { clock, watermark, claim } = clocked();
  claim([nine], 1);
  clock.now = 999;
  expect(watermark.next()).toHaveLength(1);
  clock.now = 1_000;
  expect(watermark.next()).toEqual([]);
});

test("but spends at most a twentieth of the time on it", () => {
  const { clock, watermark, claim } = clocked();
  claim([nine], 1, 300);
  clock.now = 5_999;
  expect(watermark.next()).toHaveLength(1);
  clock.now = 6_000;
  expect(watermark.next()).toEqual([]);
});

test("nor waits longer than ten seconds for it, as when a scan had to wait for a lock", () => {
  const { clock, watermark, claim } = clocked();
  claim([nine], 1, 60_000);
  clock.now = 9_999;
  expect(watermark.next()).toHaveLength(1);
  clock.now = 10_000;
  expect(watermark.next()).toEqual([]);
});

test("begins at the front when tasks are given back while a claim is under way", () => {
  const { watermark, claim } = clocked();
  claim([nine], 1);
  const after = watermark.next();
  watermark.reset();
  watermark.passed([ten], { after, limit: 1, sentAt: 0 });
  expect(watermark.next()).toEqual([]);
});
