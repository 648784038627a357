/** A claimed task should not wait longer than this for a handler, nor than a small part of its lease. */
const longestWait = 50;
const partOfLease = 1 / 50;
const most = 2_000;
/** All that waits should not take more memory than this, in characters of JSON. */
const mostCharacters = 16_000_000;

/** A slower run counts for more than a faster one, so that a few are enough to stop claiming ahead of them. */
const rise = 0.5;
const fall = 0.05;

/**
 * How many tasks of a spec to claim ahead of free handlers: as many as are begun within the longest wait, by how long runs
 * took lately, and as there is room for in memory, by how large payloads and outputs were. Hundreds where they take no time,
 * none where they are slow, or before the first has ended.
 */
export class Prefetch {
  readonly #concurrency: number;
  readonly #wait: number;
  #duration = Number.POSITIVE_INFINITY;
  #size = 0;

  constructor(concurrency: number, leaseDuration: number) {
    this.#concurrency = concurrency;
    this.#wait = Math.min(longestWait, leaseDuration * partOfLease);
  }

  get target(): number {
    const begun = (this.#concurrency * this.#wait) / Math.max(this.#duration, 0.001);
    return Math.floor(Math.min(most, begun, mostCharacters / Math.max(this.#size, 1)));
  }

  /** A handler took so many milliseconds. */
  ran(duration: number): void {
    if (this.#duration === Number.POSITIVE_INFINITY) this.#duration = duration;
    else this.#duration += (duration - this.#duration) * (duration > this.#duration ? rise : fall);
  }

  /** A task takes so much memory, in characters of JSON or in bytes. More is believed at once. */
  weighed(size: number): void {
    this.#size = size > this.#size ? size : this.#size + (size - this.#size) * fall;
  }

  /** A task that was claimed ahead waited so long, behind so many: handlers that block each other are slower than they say. */
  waited(milliseconds: number, behind: number): void {
    this.ran((milliseconds * this.#concurrency) / Math.max(behind, 1));
  }
}
