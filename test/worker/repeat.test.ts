import { expect, test, vi } from "vitest";
import { repeat } from "../../src/worker/repeat.ts";

test("repeats at intervals until the signal fires, and waits for the action", async () => {
  const quit = new AbortController();
  let runs = 0;
  let atOnce = 0;
  await repeat(5, quit.signal, async () => {
    expect(++atOnce).toBe(1);
    await new Promise(setImmediate);
    atOnce--;
    if (++runs === 4) quit.abort();
  });
  expect(runs).toBe(4);
});

test("does nothing once the signal has fired", async () => {
  const action = vi.fn(async () => {});
  await repeat(1, AbortSignal.abort(), action);
  expect(action).not.toHaveBeenCalled();
});
