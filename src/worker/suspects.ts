import { Ahead } from "./ahead.ts";
import { type Place, type Quarantine, quarantineOf } from "./quarantine.ts";
import type { Run } from "./run.ts";
import type { Slots } from "./slots.ts";

interface Surroundings {
  readonly quarantine: Quarantine;
  readonly slots: Slots;
  /** Begins a run in a slot, and leaves the place when it has ended. */
  begin(run: Run, place: Place): void;
  giveBack(runs: readonly Run[]): void;
  /** Of a run for its turn, in milliseconds; then it is given back. */
  readonly longestWait: number;
}

/** The claimed tasks of one spec that may have killed their process: they begin one after another. */
export class Suspects {
  readonly #surroundings: Surroundings;
  readonly #line: Ahead;
  #isBeginning = false;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#line = new Ahead(surroundings.longestWait, (tired) => surroundings.giveBack(tired));
  }

  add(runs: readonly Run[]): void {
    if (runs.length === 0) return;
    this.#line.add(runs);
    if (!this.#isBeginning) void this.#beginAll();
  }

  /** How many wait for their turn. */
  get size(): number {
    return this.#line.size;
  }

  /** Resolves when none waits. */
  empty(): Promise<void> {
    return this.#line.low(0);
  }

  /** Begins no more. Returns those that wait. */
  close(): Run[] {
    return this.#line.close();
  }

  async #beginAll(): Promise<void> {
    const { quarantine, slots, begin } = this.#surroundings;
    this.#isBeginning = true;
    while (this.size > 0) {
      const place = await quarantine.enter();
      const taken = this.size > 0 ? await slots.take(1) : 0;
      const next = taken > 0 ? this.#line.next() : undefined;
      if (next) {
        place.leaveAfter(quarantineOf(next.run.task));
        begin(next.run, place);
      } else {
        slots.give(taken);
        place.leave();
        // Without a slot no more will come, and what waits is given back.
        if (taken === 0) break;
      }
    }
    this.#isBeginning = false;
  }
}
