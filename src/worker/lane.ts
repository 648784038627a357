/** Lets one through at a time, in order. */
export class Lane {
  #last: Promise<void> = Promise.resolve();

  /** Waits for a turn. Resolves to what ends it, or to undefined when the signal fires first. */
  async enter(signal: AbortSignal): Promise<(() => void) | undefined> {
    const before = this.#last;
    let leave!: () => void;
    const turn = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.#last = before.then(() => turn);
    if (await Promise.race([before.then(() => true), firing(signal)])) return leave;
    leave();
    return undefined;
  }
}

function firing(signal: AbortSignal): Promise<false> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(false);
    else signal.addEventListener("abort", () => resolve(false), { once: true });
  });
}
