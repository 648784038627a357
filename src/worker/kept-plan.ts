/** How much slower than a planned claim a prepared one may be: so many times, and so many milliseconds. */
const mostTimes = 2;
const mostMore = 10;
/** One slow claim proves nothing: it may have waited for the disk. Nor does a fast one: each connection has a plan of its own. */
const mostSlow = 2;
const amends = 0.25;
const longestDistrust = 60_000;
/** So often a claim is planned all the same, to know how long that takes by now. */
const mostInARow = 50;
/** A new plan is made after so many tasks, and whenever they have doubled since; up to the plan of this number. */
const firstPlan = 32;
const lastPlan = 16;

interface Answer {
  readonly took: number;
  readonly plan: number | undefined;
  readonly tasks: number;
  readonly isFilled: boolean;
}

/**
 * When a claim may use a plan that Postgres has kept: while the claims find little, so that planning is most of what they
 * take. Postgres keeps a plan until the next ANALYZE, and one from when the table was small reads it from end to end when it
 * has grown. So there is a new one whenever the tasks that were claimed have doubled; a backlog is claimed by statements that
 * are planned each time, and so is everything for a minute after a kept plan was seen to be slow, or to fail.
 */
export class KeptPlan {
  readonly #now: () => number;
  #isCaughtUp = false;
  #claimed = 0;
  /** How long the last planned claim took that was not filled; a guess before the first. */
  #plannedTook = 50;
  #used = 0;
  #slow = 0;
  #distrustedUntil = Number.NEGATIVE_INFINITY;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The number of the plan that the next claim uses; undefined where it is to be planned. */
  get wanted(): number | undefined {
    if (!this.#isCaughtUp || this.#used >= mostInARow || this.#now() < this.#distrustedUntil) return undefined;
    return Math.min(lastPlan, Math.floor(Math.log2(1 + this.#claimed / firstPlan)));
  }

  /** A claim was answered: after how many milliseconds, by which kept plan, with how many tasks, and whether it got all. */
  answered({ took, plan, tasks, isFilled }: Answer): void {
    this.#isCaughtUp = !isFilled;
    this.#claimed += tasks;
    if (plan !== undefined) {
      this.#used++;
      const isSlow = took > mostTimes * this.#plannedTook + mostMore;
      this.#slow = Math.max(0, this.#slow + (isSlow ? 1 : -amends));
      if (this.#slow >= mostSlow) this.#distrust();
    } else {
      this.#used = 0;
      // It may have waited for a connection.
      if (!isFilled) this.#plannedTook = Math.min(took, mostTimes * this.#plannedTook + mostMore);
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
