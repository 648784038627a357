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
