/** How much slower than a planned claim a prepared one may be: so many times, and so many milliseconds. */
const mostTimes = 2;
const mostMore = 10;
/** One slow claim proves nothing: it may have waited for the disk. */
const slowInARow = 2;
const longestDistrust = 60_000;

/**
 * When a claim may use a plan that Postgres has kept: while the claims find little, so that planning is most of what they
 * take. A backlog is claimed by statements that are planned each time, and so is everything for a minute after a kept plan
 * was seen to be slow: it is from when the table was small, which Postgres forgets at the next ANALYZE.
 */
export class KeptPlan {
  readonly #now: () => number;
  #isCaughtUp = false;
  /** How long the last planned claim took that was not filled. */
  #plannedTook = 0;
  #slow = 0;
  #distrustedUntil = Number.NEGATIVE_INFINITY;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get isWanted(): boolean {
    return this.#isCaughtUp && this.#now() >= this.#distrustedUntil;
  }

  /** A claim was answered: how many milliseconds it took, whether by a kept plan, and whether it got all it asked for. */
  answered({ took, prepared, isFilled }: { took: number; prepared: boolean; isFilled: boolean }): void {
    this.#isCaughtUp = !isFilled;
    if (prepared) this.#judge(took > mostTimes * this.#plannedTook + mostMore);
    else if (!isFilled) this.#plannedTook = took;
  }

  #judge(isSlow: boolean): void {
    this.#slow = isSlow ? this.#slow + 1 : 0;
    if (this.#slow < slowInARow) return;
    this.#slow = 0;
    this.#distrustedUntil = this.#now() + longestDistrust;
  }
}
