/** When the handlers of tasks ran that are enqueued one at a time, each after the one before was handled. */
export class Arrivals {
  #awaited = -1;
  #times = 0;
  #arrived = Promise.withResolvers<number>();
  #fault: Error | undefined;

  /** Is called before the task is enqueued; when its handler ran is a `performance.now()`. */
  next(n: number): Promise<number> {
    this.#awaited = n;
    this.#times = 0;
    this.#arrived = Promise.withResolvers();
    return this.#arrived.promise;
  }

  /** @throws when the task is not the awaited one, or was handled before. */
  handled(n: number): void {
    const at = performance.now();
    if (n !== this.#awaited) throw this.#fail(`Task ${n} was handled while ${this.#awaited} was awaited.`);
    if (++this.#times > 1) throw this.#fail(`Task ${n} was enqueued once, and handled ${this.#times} times.`);
    this.#arrived.resolve(at);
  }

  /** @throws what `handled` threw first: a queue may keep what a handler throws to itself. */
  check(): void {
    if (this.#fault) throw this.#fault;
  }

  #fail(message: string): Error {
    const error = new Error(message);
    this.#fault ??= error;
    return error;
  }
}
