import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { bench } from "./modules.ts";

const { Progress } = await bench("scenarios/progress.ts");

interface FakeWorker {
  onProgress(done: number): void;
  report: Promise<unknown>;
  end(): void;
  fail(reason: string): void;
}

function worker(): FakeWorker {
  let end = () => {};
  let fail = (_reason: string) => {};
  const report = new Promise<void>((resolve, reject) => {
    end = resolve;
    fail = (reason) => reject(new Error(reason));
  });
  return { onProgress() {}, report, end, fail };
}

test("what the workers have handled is added up, and the first report begins it", async () => {
  const [a, b] = [worker(), worker()];
  const progress = new Progress([a, b]);
  expect([progress.done, progress.beganAt]).toEqual([0, Number.NaN]);
  const before = performance.now();
  b.onProgress(1);
  const after = performance.now();
  await pause(5);
  a.onProgress(10);
  b.onProgress(4);
  a.onProgress(12);
  expect(progress.done).toBe(16);
  expect(progress.beganAt).toBeGreaterThanOrEqual(before);
  expect(progress.beganAt).toBeLessThanOrEqual(after);
});

test("a count is reached at the first report by which so many were handled", async () => {
  const [a, b] = [worker(), worker()];
  const progress = new Progress([a, b]);
  const reached = progress.reaches(10);
  a.onProgress(6);
  b.onProgress(3);
  expect(await Promise.race([reached, pause(20, "not yet")])).toBe("not yet");
  const before = performance.now();
  b.onProgress(5);
  const after = performance.now();
  await pause(5);
  a.onProgress(9);
  const { at, done } = await reached;
  expect(done).toBe(11);
  expect(at).toBeGreaterThanOrEqual(before);
  expect(at).toBeLessThanOrEqual(after);
  expect((await progress.reaches(14)).done).toBe(14);
});

test("a worker that fails, or ends before the count is reached, fails the wait", async () => {
  const failing = worker();
  const reached = new Progress([worker(), failing]).reaches(10);
  failing.fail("the queue is broken");
  await expect(reached).rejects.toThrow("the queue is broken");

  const ending = worker();
  const others = new Progress([ending, worker()]).reaches(10);
  ending.end();
  await expect(others).rejects.toThrow("A worker ended too early.");
});

test("silence fails the wait, slowness does not", async () => {
  const one = worker();
  const progress = new Progress([one], 200);
  const reached = progress.reaches(10);
  const outcome = reached.then(
    () => "reached",
    (error: Error) => error.message,
  );
  for (let done = 1; done <= 8; done++) {
    one.onProgress(done);
    await pause(60);
  }
  expect(await Promise.race([outcome, pause(1, "not yet")])).toBe("not yet");
  expect(await outcome).toBe("Only 8 of 10 tasks were handled; then there was silence.");
});
