import { expect, test } from "vitest";
import { Agenda } from "../../src/worker/agenda.ts";

test("tells the nearest of many moments, never too early", () => {
  const agenda = new Agenda();
  expect(agenda.next).toBe(Number.POSITIVE_INFINITY);
  const now = performance.now();
  expect(agenda.add(now + 5_000)).toBe(true);
  expect(agenda.add(now + 9_000)).toBe(false);
  expect(agenda.add(now + 1_000)).toBe(true);
  expect(agenda.add(now + 1_000)).toBe(false);
  expect(agenda.next).toBeGreaterThanOrEqual(now + 1_000);
  expect(agenda.next).toBeLessThan(now + 1_011);
});

test("keeps the others when one has passed", () => {
  const agenda = new Agenda();
  const now = performance.now();
  agenda.add(now - 1_000);
  agenda.add(now - 20);
  agenda.add(now + 60_000);
  agenda.pass();
  expect(agenda.next).toBeGreaterThanOrEqual(now + 60_000);
  agenda.pass();
  agenda.add(now - 20);
  expect(agenda.next).toBeLessThan(now);
});

test("keeps the nearest, in order, when there are too many", () => {
  const agenda = new Agenda();
  const now = performance.now();
  for (let i = 0; i < 5_000; i++) agenda.add(now + 1_000_000 - i * 100);
  expect(agenda.next).toBeLessThan(now + 1_000_000 - 499_800);
  for (let i = 0; i < 5_000; i++) expect(agenda.add(now + 2_000_000 + i * 100)).toBe(false);
});
