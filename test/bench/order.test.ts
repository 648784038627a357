import { expect, test } from "vitest";
import { bench } from "./modules.ts";

const { orderOf } = await bench("order.ts");

test("each contender is first in turn, and follows the one before it and the one behind it in turn", () => {
  const orders = [0, 1, 2, 3, 4].map((repetition) => orderOf(["a", "b", "c", "d"], repetition).join(""));
  expect(orders).toEqual(["abcd", "badc", "cdab", "dcba", "abcd"]);
});
