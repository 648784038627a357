import { BatchSize, largestBatch } from "./batch-size.ts";
import type { Settlement } from "./settlement.ts";

/** In characters of JSON. */
const heaviestBatch = 4_000_000;
/** What is worth a statement of its own. */
export const worthOne = 100;

/** Outcomes that wait to be written, and how many of them one statement takes. */
export class Gathered {
  readonly size = new BatchSize(largestBatch);
  #waiting: Settlement[] = [];

  get length(): number {
    return this.#waiting.length;
  }

  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
  }

  /** Takes out the next batch. Where there are enough of one claim they go by themselves: Postgres finds them faster. */
  next(): Settlement[] {
    const [first] = this.#waiting;
    if (!first) return [];
    const others = this.#waiting.findIndex(({ run }) => run.task.token !== first.run.task.token);
    const most = Math.min(this.#waiting.length, this.size.current, others >= worthOne ? others : largestBatch);
    let count = 1;
    for (let { weight } = first; count < most && weight < heaviestBatch; count++)
      weight += this.#waiting[count]!.weight;
    return this.#waiting.splice(0, count);
  }
}
