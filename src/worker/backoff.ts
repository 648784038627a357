import { pause } from "./pause.ts";

const first = 100;
const longest = 5_000;

/** Waits that double from 100 ms to 5 s, with jitter so that processes do not return all at once. */
export class Backoff {
  #next = first;

  async wait(signal: AbortSignal): Promise<void> {
    const length = this.#next * (0.5 + Math.random() / 2);
    this.#next = Math.min(this.#next * 2, longest);
    await pause(length, signal);
  }

  reset(): void {
    this.#next = first;
  }
}
