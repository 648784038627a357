const grain = 10;
const mostMoments = 1_000;

/** When something will be due: the nearest moments, as `performance.now()`, rounded up so that many fall together. */
export class Agenda {
  readonly #moments: number[] = [];

  /** The next moment. */
  get next(): number {
    return this.#moments[0] ?? Number.POSITIVE_INFINITY;
  }

  /** Whether it is now the next one. */
  add(at: number): boolean {
    const moment = Math.ceil(at / grain) * grain;
    let place = this.#moments.length;
    while (place > 0 && this.#moments[place - 1]! >= moment) place--;
    if (this.#moments[place] === moment) return false;
    this.#moments.splice(place, 0, moment);
    if (this.#moments.length > mostMoments) this.#moments.pop();
    return place === 0;
  }

  /** Forgets what is due by now. */
  pass(): void {
    const now = performance.now();
    const left = this.#moments.findIndex((moment) => moment > now);
    this.#moments.splice(0, left < 0 ? this.#moments.length : left);
  }
}
