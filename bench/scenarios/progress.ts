import { setTimeout as pause } from "node:timers/promises";
import type { MeasuredProcess } from "../measured-process.ts";

const longestSilence = 60_000;

interface Reached {
  /** As `performance.now()`. */
  readonly at: number;
  /** How many were handled by then: workers report from time to time, so mostly some more than were waited for. */
  readonly done: number;
}

type Worker = Pick<MeasuredProcess<"work">, "onProgress" | "report">;

/** How many tasks the workers have handled together. */
export class Progress {
  /** When the first handler ran, as `performance.now()`. */
  beganAt = Number.NaN;
  readonly #failure: Promise<never>;
  readonly #done: number[];
  readonly #waiting: { count: number; resolve: (reached: Reached) => void }[] = [];

  readonly #patience: number;

  constructor(workers: readonly Worker[], patience = longestSilence) {
    this.#patience = patience;
    this.#done = workers.map(() => 0);
    for (const [i, worker] of workers.entries()) {
      worker.onProgress = (done) => {
        this.#done[i] = done;
        this.#reported();
      };
    }
    // A worker reports only at its end; before, it can but fail.
    this.#failure = Promise.race(workers.map(({ report }) => report)).then(() => {
      throw new Error("A worker ended too early.");
    });
    this.#failure.catch(() => {});
  }

  get done(): number {
    return this.#done.reduce((sum, done) => sum + done, 0);
  }

  /** Resolves at the first report by which so many were handled. */
  async reaches(count: number): Promise<Reached> {
    const { promise, resolve } = Promise.withResolvers<Reached>();
    this.#waiting.push({ count, resolve });
    this.#serve();
    const quiet = new AbortController();
    try {
      return await Promise.race([promise, this.#failure, this.#silence(count, quiet.signal)]);
    } finally {
      quiet.abort();
    }
  }

  #reported(): void {
    if (Number.isNaN(this.beganAt)) this.beganAt = performance.now();
    this.#serve();
  }

  #serve(): void {
    const reached = { at: performance.now(), done: this.done };
    for (const { count, resolve } of this.#waiting) if (reached.done >= count) resolve(reached);
  }

  async #silence(count: number, signal: AbortSignal): Promise<never> {
    for (let before = -1; before < this.done; ) {
      before = this.done;
      await pause(this.#patience, undefined, { signal }).catch(() => {});
      if (signal.aborted) return new Promise(() => {});
    }
    throw new Error(`Only ${this.done} of ${count} tasks were handled; then there was silence.`);
  }
}
