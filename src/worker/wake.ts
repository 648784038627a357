import { longestTimer } from "./pause.ts";

/** Wakes one waiting loop. A call while nobody waits is kept for the next wait. */
export class Wake {
  #called = false;
  #waiting: (() => void) | undefined;

  call(): void {
    this.#called = true;
    this.#waiting?.();
  }

  /** Resolves at a call, or after so many milliseconds. */
  async wait(milliseconds: number): Promise<void> {
    if (!this.#called) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(milliseconds, longestTimer));
        this.#waiting = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#waiting = undefined;
    this.#called = false;
  }
}
