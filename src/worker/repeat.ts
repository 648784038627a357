import { pause } from "./pause.ts";

/** Repeats an action at intervals until the signal fires; each interval is up to a fifth shorter or longer. */
export async function repeat(interval: number, signal: AbortSignal, action: () => Promise<void>): Promise<void> {
  for (;;) {
    await pause(interval * (0.8 + Math.random() * 0.4), signal);
    if (signal.aborted) return;
    await action();
  }
}
