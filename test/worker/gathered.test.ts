import { expect, test } from "vitest";
import { Gathered } from "../../src/worker/gathered.ts";
import type { Settlement } from "../../src/worker/settlement.ts";

const settlement = (token: string, weight = 0) => ({ run: { task: { token } }, weight }) as Settlement;
const gathered = (...settlements: Settlement[]) => {
  const all = new Gathered();
  for (const one of settlements) all.add(one);
  return all;
};
const many = (count: number, token = "a", weight = 0) => Array.from({ length: count }, () => settlement(token, weight));

test("goes by itself where there is enough of one claim, and else with what comes after", () => {
  const all = gathered(...many(100, "a"), ...many(99, "b"), ...many(10, "c"));
  expect(all.next()).toHaveLength(100);
  expect(all.next()).toHaveLength(109);
  expect(all.next()).toEqual([]);
});

test("is a thousand at most, and as much less as has failed", () => {
  const all = gathered(...many(2_500));
  expect(all.next()).toHaveLength(1_000);
  all.size.failed(1_000);
  expect(all.next()).toHaveLength(500);
  expect(all.length).toBe(1_000);
});

test("is no heavier than four million characters, but one at least", () => {
  const all = gathered(...many(9, "a", 1_500_000), ...many(2, "a", 9_000_000));
  expect(Array.from({ length: 5 }, () => all.next().length)).toEqual([3, 3, 3, 1, 1]);
});
