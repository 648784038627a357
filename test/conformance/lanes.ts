/** Runs each piece of work once, at its first `start`, never more than so many at once. */
export class Lanes<T> {
  readonly #work: readonly (() => Promise<T>)[];
  readonly #started = new Map<number, Promise<T>>();
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(width: number, work: readonly (() => Promise<T>)[]) {
    this.#free = width;
    this.#work = work;
  }

  start(index: number): Promise<T> {
    const started = this.#started.get(index) ?? this.#run(this.#work[index]!);
    this.#started.set(index, started);
    // Whoever asked for it ahead of time does not look at its end.
    started.catch(() => {});
    return started;
  }

  /** Starts a piece and, so that no lane is idle, those after it. */
  startFrom(index: number, ahead: number): Promise<T> {
    const first = this.start(index);
    for (let next = index + 1; next <= index + ahead && next < this.#work.length; next++) void this.start(next);
    return first;
  }

  async #run(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free--;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
