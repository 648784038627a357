import type { Run } from "./run.ts";

/** A run that was claimed before there was a slot for it. */
export interface Waiting {
  readonly run: Run;
  /** As `performance.now()`. */
  readonly since: number;
  /** How many were to begin before it, itself counted. */
  readonly place: number;
}

/** Tasks of one spec that were claimed before they can begin, in the order in which they are to. */
export class Ahead {
  readonly #longestWait: number;
  readonly #onTired: (runs: Run[]) => void;
  #waiting: Waiting[] = [];
  #first = 0;
  #watchers: { most: number; resolve(): void }[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Those that have waited for `longestWait` milliseconds are taken out, and passed to `onTired`. */
  constructor(longestWait: number, onTired: (runs: Run[]) => void) {
    this.#longestWait = longestWait;
    this.#onTired = onTired;
  }

  get size(): number {
    return this.#waiting.length - this.#first;
  }

  add(runs: readonly Run[]): void {
    const since = performance.now();
    this.#forget();
    for (const run of runs) this.#waiting.push({ run, since, place: this.#waiting.length + 1 });
    this.#watch();
  }

  next(): Waiting | undefined {
    const waiting = this.#waiting[this.#first];
    if (!waiting) return undefined;
    this.#first++;
    if (this.size === 0) this.#rest();
    this.#tell();
    return waiting;
  }

  /** Takes out all of them; no more may come. */
  close(): Run[] {
    return this.#takeBefore(Number.POSITIVE_INFINITY);
  }

  /** Resolves when no more than so many are left. */
  low(most: number): Promise<void> {
    if (this.size <= most) return Promise.resolve();
    return new Promise((resolve) => this.#watchers.push({ most, resolve }));
  }

  get #since(): number | undefined {
    return this.#waiting[this.#first]?.since;
  }

  #takeBefore(moment: number): Run[] {
    const runs: Run[] = [];
    while (this.size > 0 && this.#since! < moment) runs.push(this.#waiting[this.#first++]!.run);
    if (this.size === 0) this.#rest();
    this.#tell();
    return runs;
  }

  /** Keeps neither what was handed out nor the process. */
  #rest(): void {
    this.#forget();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #forget(): void {
    this.#waiting.splice(0, this.#first);
    this.#first = 0;
  }

  #watch(): void {
    if (this.#timer || this.#since === undefined) return;
    const left = this.#since + this.#longestWait - performance.now();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        const tired = this.#takeBefore(performance.now() - this.#longestWait);
        if (tired.length > 0) this.#onTired(tired);
        this.#watch();
      },
      Math.max(1, left + 1),
    );
  }

  #tell(): void {
    if (this.#watchers.length === 0) return;
    const told = this.#watchers.filter(({ most }) => this.size <= most);
    if (told.length === 0) return;
    this.#watchers = this.#watchers.filter((watcher) => !told.includes(watcher));
    for (const { resolve } of told) resolve();
  }
}
