import type { Claimed } from "../queries/claimed.ts";

/**
 * A place for one suspect: a task whose last try was ended by the reaper, and may have killed its process. While it is
 * taken no other suspect begins, so that a deadly one takes none of them with it.
 */
export class Quarantine {
  readonly #onFree: () => void;
  #isFree = true;

  constructor(onFree: () => void) {
    this.#onFree = onFree;
  }

  get isFree(): boolean {
    return this.#isFree;
  }

  /** Takes the place, for so many milliseconds at most. Returns what frees it, or undefined where it is taken. */
  enter(longest: number): (() => void) | undefined {
    if (!this.#isFree) return undefined;
    this.#isFree = false;
    let isOver = false;
    const leave = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#isFree = true;
      this.#onFree();
    };
    const timer = setTimeout(leave, longest);
    return leave;
  }
}

/**
 * How long a suspect runs without killing the process before the next one may begin beside it: longer with each try, so
 * that those which fell beside a deadly one are kept from it in the end.
 */
export function quarantineOf({ attempt }: Claimed): number {
  return Math.min(1_000 * 5 ** (attempt - 2), 60_000);
}
