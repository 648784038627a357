import { firing } from "./pause.ts";

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
    if (await Promise.race([before.then(() => true), firing(signal).then(() => false)])) return leave;
    leave();
    return undefined;
  }
}
