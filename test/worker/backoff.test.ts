import { expect, test, vi } from "vitest";

const lengths: number[] = [];
vi.mock("../../src/worker/pause.ts", () => ({ pause: async (length: number) => void lengths.push(length) }));
const { Backoff } = await import("../../src/worker/backoff.ts");

const signal = new AbortController().signal;

async function waits(backoff: InstanceType<typeof Backoff>, count: number): Promise<number[]> {
  lengths.length = 0;
  for (let i = 0; i < count; i++) await backoff.wait(signal);
  return [...lengths];
}

test("doubles from 100 ms to 5 s, each shortened by up to a half", async () => {
  const full = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];
  const seen = await waits(new Backoff(), full.length);
  for (const [i, length] of seen.entries()) {
    expect(length).toBeGreaterThanOrEqual(full[i]! / 2);
    expect(length).toBeLessThanOrEqual(full[i]!);
  }
});

test("does not return at the same moment everywhere", async () => {
  const firsts = new Set<number | undefined>();
  for (let i = 0; i < 20; i++) firsts.add((await waits(new Backoff(), 1))[0]);
  expect(firsts.size).toBeGreaterThan(10);
});

test("begins anew after a reset", async () => {
  const backoff = new Backoff();
  await waits(backoff, 6);
  backoff.reset();
  expect((await waits(backoff, 1))[0]).toBeLessThanOrEqual(100);
});
