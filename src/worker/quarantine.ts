import type { Claimed } from "../queries/claimed.ts";

export interface Place {
  /** Frees it. */
  leave(): void;
  /** Frees it after so many milliseconds, unless it is free before. */
  leaveAfter(milliseconds: number): void;
}

/**
 * A place for one suspect: a task whose last try was ended by the reaper, and may have killed its process. While it is
 * taken no other suspect begins, so that a deadly one takes none of them with it.
 */
export class Quarantine {
  readonly #onFree: () => void;
  readonly #line: (() => void)[] = [];
  #isFree = true;

  /** `onFree` is called when the place is free and nobody waits for it. */
  constructor(onFree: () => void) {
    this.#onFree = onFree;
  }

  get isFree(): boolean {
    return this.#isFree;
  }

  /** Takes the place, when it is free: whoever asked first is first. */
  async enter(): Promise<Place> {
    if (this.#isFree) this.#isFree = false;
    else await new Promise<void>((resolve) => this.#line.push(resolve));
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    const leave = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#pass();
    };
    const leaveAfter = (milliseconds: number) => {
      timer = setTimeout(leave, milliseconds);
    };
    return { leave, leaveAfter };
  }

  #pass(): void {
    const next = this.#line.shift();
    if (next) return next();
    this.#isFree = true;
    this.#onFree();
  }
}

/**
 * How long a suspect runs without killing the process before the next one may begin beside it: longer with each try, so
 * that those which fell beside a deadly one are kept from it in the end.
 */
export function quarantineOf({ attempt }: Claimed): number {
  return Math.min(1_000 * 5 ** (attempt - 2), 60_000);
}
