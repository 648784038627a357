/** What a claim brings, and a statement settles, at most. */
export const largestBatch = 1_000;

/**
 * How many rows a statement takes: half as many after one that failed, as it may have run into a timeout, and more again as
 * others succeed. Twice as many each time until the first failure; from then on slowly, so as not to fail every other time.
 */
export class BatchSize {
  readonly #most: number;
  #current: number;
  #growth = 2;

  constructor(most: number, first = most) {
    this.#most = most;
    this.#current = first;
  }

  get current(): number {
    return Math.floor(this.#current);
  }

  /** A statement over so many rows failed. */
  failed(rows: number): void {
    this.#growth = 1.25;
    this.#current = Math.max(1, Math.min(this.#current, rows / 2));
  }

  /** A statement over so many rows succeeded; fewer than it might have taken prove nothing. */
  succeeded(rows: number): void {
    if (rows >= this.current) this.#current = Math.min(this.#most, this.#current * this.#growth);
  }
}
