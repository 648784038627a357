import type { Run } from "./run.ts";

/** A run that was claimed before there was a slot for it. */
export interface Waiting {
  readonly run: Run;
  /** As `performance.now()`. */
  readonly since: number;
  /** How many were to begin before it, itself counted. */
  readonly place: number;
}

/** The tasks of one spec that were claimed ahead of free slots, in the order in which they are to begin. */
export class Ahead {
  #waiting: Waiting[] = [];
  #first = 0;
  #watchers: { most: number; resolve(): void }[] = [];

  get size(): number {
    return this.#waiting.length - this.#first;
  }

  /** When the one that is next came. */
  get since(): number | undefined {
    return this.#waiting[this.#first]?.since;
  }

  add(runs: readonly Run[]): void {
    const since = performance.now();
    this.#waiting.splice(0, this.#first);
    this.#first = 0;
    for (const run of runs) this.#waiting.push({ run, since, place: this.#waiting.length + 1 });
  }

  next(): Waiting | undefined {
    const waiting = this.#waiting[this.#first];
    if (!waiting) return undefined;
    this.#first++;
    this.#tell();
    return waiting;
  }

  /** Takes out those that came before that moment. */
  takeBefore(moment: number): Run[] {
    const runs: Run[] = [];
    while (this.size > 0 && this.since! < moment) runs.push(this.#waiting[this.#first++]!.run);
    this.#tell();
    return runs;
  }

  /** Resolves when no more than so many are left. */
  low(most: number): Promise<void> {
    if (this.size <= most) return Promise.resolve();
    return new Promise((resolve) => this.#watchers.push({ most, resolve }));
  }

  #tell(): void {
    if (this.#watchers.length === 0) return;
    const told = this.#watchers.filter(({ most }) => this.size <= most);
    if (told.length === 0) return;
    this.#watchers = this.#watchers.filter((watcher) => !told.includes(watcher));
    for (const { resolve } of told) resolve();
  }
}
