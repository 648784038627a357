import { setTimeout as wait } from "node:timers/promises";

/** The most that a timer of Node takes: about 24 days. A longer one would fire at once. */
export const longestTimer = 2 ** 31 - 1;

/** Resolves after so many milliseconds, or when the signal fires. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await wait(Math.min(milliseconds, longestTimer), undefined, { signal }).catch(() => {});
}

/** Resolves when the signal fires. */
export function firing(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Whether a promise settles within so many milliseconds. Its rejection counts as an end too. */
export async function endsWithin(milliseconds: number, promise: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const ended = promise.then(
    () => true,
    () => true,
  );
  const isInTime = await Promise.race([ended, pause(milliseconds, timer.signal).then(() => false)]);
  timer.abort();
  return isInTime;
}
