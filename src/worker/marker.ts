import type { Host, Registration } from "./host.ts";
import { insist } from "./insist.ts";
import type { Run } from "./run.ts";

interface Mark {
  readonly run: Run;
  readonly isWanted: () => boolean;
  resolve(isMarked: boolean | Promise<boolean>): void;
  reject(error: unknown): void;
}

/** Writes down that handlers begin, before they do: those that begin in one turn of the event loop go together. */
export class Marker {
  readonly #host: Host;
  readonly #registration: Registration;
  #gathered: Mark[] = [];

  constructor(host: Host, registration: Registration) {
    this.#host = host;
    this.#registration = registration;
  }

  /** Whether it is written; not when the claim is over, or is wanted no more. */
  mark(run: Run, isWanted: () => boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#gathered.push({ run, isWanted, resolve, reject }) > 1) return;
      void this.#host.nextTurn().then(() => this.#flush());
    });
  }

  async #flush(): Promise<void> {
    const marks = this.#gathered.splice(0);
    const marked = await this.#markAll(marks.filter(({ isWanted }) => isWanted()).map(({ run }) => run));
    for (const { run, isWanted, resolve, reject } of marks) {
      if (marked.has(run.task.id)) resolve(true);
      else this.#insist(run, isWanted).then(resolve, reject);
    }
  }

  /** Those that are marked; whatever keeps the others from it, each of them is tried alone. */
  async #markAll(runs: readonly Run[]): Promise<ReadonlySet<number>> {
    const { db, pgqueue } = this.#host;
    const { spec } = this.#registration;
    if (runs.length < 2) return new Set();
    try {
      const tasks = runs.map(({ task }) => task);
      return new Set((await pgqueue.markStarted(db, spec, tasks)).map(({ id }) => id));
    } catch {
      return new Set();
    }
  }

  #insist(run: Run, isWanted: () => boolean): Promise<boolean> {
    const { db, pgqueue } = this.#host;
    const { spec } = this.#registration;
    return insist(this.#host, spec, [run], (tasks) => pgqueue.markStarted(db, spec, tasks), isWanted);
  }
}
