/** How much slower than a planned claim a prepared one may be: so many times, and so many milliseconds. */
const mostTimes = 2;
const mostMore = 10;
/** One slow claim proves nothing: it may have waited for the disk. */
const slowInARow = 2;
const longestDistrust = 60_000;
/** So often a claim is planned all the same, to know how long that takes by now. */
const mostInARow = 50;

/**
 * When a claim may use a plan that Postgres has kept: while the claims find little, so that planning is most of what they
 * take. A backlog is claimed by statements that are planned each time, and so is everything for a minute after a kept plan
 * was seen to be slow, or to fail: it is from when the table was small, which Postgres forgets at the next ANALYZE.
 */
export class KeptPlan {
  readonly #now: () => number;
  #isCaughtUp = false;
  /** How long the last planned claim took that was not filled. */
  #plannedTook = 0;
  #used = 0;
  #slow = 0;
  #distrustedUntil = Number.NEGATIVE_INFINITY;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get isWanted(): boolean {
    return this.#isCaughtUp && this.#used < mostInARow && this.#now() >= this.#distrustedUntil;
  }

  /** A claim was answered: how many milliseconds it took, whether by a kept plan, and whether it got all it asked for. */
  answered({ took, prepared, isFilled }: { took: number; prepared: boolean; isFilled: boolean }): void {
    this.#isCaughtUp = !isFilled;
    if (prepared) {
      this.#used++;
      this.#slow = took > mostTimes * this.#plannedTook + mostMore ? this.#slow + 1 : 0;
      if (this.#slow >= slowInARow) this.#distrust();
    } else {
      this.#used = 0;
      this.#slow = 0;
      if (!isFilled) this.#plannedTook = took;
    }
  }

  /** A claim failed, whatever it was. */
  failed(): void {
    this.#distrust();
  }

  #distrust(): void {
    this.#slow = 0;
    this.#distrustedUntil = this.#now() + longestDistrust;
  }
}
