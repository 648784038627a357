interface Waiter {
  most: number;
  resolve(taken: number): void;
}

/** The handlers that may run at once, shared by all queues: whoever asked first is served first. */
export class Slots {
  #free: number;
  #closed = false;
  readonly #waiters: Waiter[] = [];

  constructor(total: number) {
    this.#free = total;
  }

  /** Takes up to `most` slots, waiting until there is one. Resolves to 0 once closed. */
  take(most: number): Promise<number> {
    return new Promise((resolve) => {
      this.#waiters.push({ most, resolve });
      this.#serve();
    });
  }

  /** Takes up to `most` slots that are free now; 0 where there are none, or anyone waits for one. */
  takeFree(most: number): number {
    if (this.#closed || this.waiting > 0) return 0;
    const taken = Math.min(most, this.#free);
    this.#free -= taken;
    return taken;
  }

  /** How many wait for one. */
  get waiting(): number {
    return this.#waiters.length;
  }

  give(count: number): void {
    if (count === 0) return;
    this.#free += count;
    this.#serve();
  }

  /** No more slots for anyone. */
  close(): void {
    this.#closed = true;
    this.#serve();
  }

  #serve(): void {
    while (this.#waiters.length > 0 && (this.#free > 0 || this.#closed)) {
      const { most, resolve } = this.#waiters.shift()!;
      const taken = this.#closed ? 0 : Math.min(most, this.#free);
      this.#free -= taken;
      resolve(taken);
    }
  }
}
