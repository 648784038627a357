import { expect, test } from "vitest";
import { Lane } from "../../src/worker/lane.ts";

const never = new AbortController().signal;

test("lets one through at a time, in order", async () => {
  const lane = new Lane();
  const log: string[] = [];
  const pass = async (name: string) => {
    const leave = await lane.enter(never);
    log.push(`${name} in`);
    await new Promise(setImmediate);
    log.push(`${name} out`);
    leave?.();
  };
  await Promise.all(["a", "b", "c"].map(pass));
  expect(log).toEqual(["a in", "a out", "b in", "b out", "c in", "c out"]);
});

test("lets go of one whose signal fires, and keeps the order of the others", async () => {
  const lane = new Lane();
  const first = await lane.enter(never);
  const impatient = new AbortController();
  const second = lane.enter(impatient.signal);
  let isThirdIn = false;
  const third = lane.enter(never).then((leave) => {
    isThirdIn = true;
    return leave;
  });

  impatient.abort();
  expect(await second).toBeUndefined();
  await new Promise(setImmediate);
  expect(isThirdIn).toBe(false);

  first?.();
  expect(await third).toBeTypeOf("function");
});

test("lets nobody in whose signal has fired before, unless it is free", async () => {
  const lane = new Lane();
  const leave = await lane.enter(never);
  expect(await lane.enter(AbortSignal.abort())).toBeUndefined();
  leave?.();
  expect(await lane.enter(never)).toBeTypeOf("function");
});
