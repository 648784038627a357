import { expect, test } from "vitest";
import { Slots } from "../../src/worker/slots.ts";

test("gives as many as are free, and at least one", async () => {
  const slots = new Slots(5);
  expect(await slots.take(3)).toBe(3);
  expect(await slots.take(3)).toBe(2);

  const waiting = slots.take(3);
  slots.give(1);
  expect(await waiting).toBe(1);
});

test("never has more out than there are", async () => {
  const slots = new Slots(7);
  let out = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const taken = await slots.take(1 + (i % 4));
      out += taken;
      most = Math.max(most, out);
      await Promise.resolve();
      out -= taken;
      slots.give(taken);
    }),
  );
  expect(most).toBe(7);
  expect(await slots.take(100)).toBe(7);
});

test("serves whoever asked first, however much the others want", async () => {
  const slots = new Slots(1);
  await slots.take(1);
  const served: string[] = [];
  const asking = ["greedy", "modest", "late"].map((name, i) =>
    slots.take(i === 0 ? 500 : 1).then(() => served.push(name)),
  );
  for (let i = 0; i < 3; i++) slots.give(1);
  await Promise.all(asking);
  expect(served).toEqual(["greedy", "modest", "late"]);
});

test("has none for anyone once closed", async () => {
  const slots = new Slots(1);
  await slots.take(1);
  const waiting = slots.take(1);
  slots.close();
  expect(await waiting).toBe(0);
  slots.give(1);
  expect(await slots.take(1)).toBe(0);
});
