import { EventEmitter, once } from "node:events";
import type { Result, Spec, WorkerEvent } from "pgqueue";

const patience = 10_000;

/** Counts what the workers report, so that a scene can wait for an outcome instead of sleeping. */
export class Outcomes {
  readonly #counts = new Map<string, number>();
  readonly #news = new EventEmitter();

  /** For `createWorker({ onEvent })`. */
  readonly note = (event: WorkerEvent): void => {
    if (event.type !== "settled") return console.error("unexpected event:", event);
    const outcome = `${event.queue} ${event.result}`;
    this.#counts.set(outcome, this.#count(outcome) + 1);
    this.#news.emit("settled");
  };

  /** Resolves once so many runs of a queue, since the beginning, have ended with this result. */
  async reach(count: number, { queue }: Spec, result: Result["type"]): Promise<void> {
    const outcome = `${queue} ${result}`;
    const signal = AbortSignal.timeout(patience);
    while (this.#count(outcome) < count) {
      await once(this.#news, "settled", { signal }).catch(() => {
        throw new Error(`waited ${patience} ms for ${count} × "${outcome}", saw ${this.#count(outcome)}`);
      });
    }
  }

  #count(outcome: string): number {
    return this.#counts.get(outcome) ?? 0;
  }
}
