import { LeaseExpiredError } from "../errors.ts";
import type { Claimed } from "../queries/claimed.ts";
import type { Spec } from "../tasks/spec.ts";
import { longestTimer } from "./pause.ts";

/**
 * A lease as this process sees it, by its own monotonic clock. It counts from just before the claim was sent, so that it
 * never ends later here than in Postgres.
 */
export class Lease {
  /** When it ends, as `performance.now()`. */
  endsAt: number;
  readonly #spec: Spec;
  readonly #task: Claimed;
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #isWatched = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(spec: Spec, task: Claimed, sentAt: number) {
    this.#spec = spec;
    this.#task = task;
    this.endsAt = sentAt + spec.leaseDuration;
  }

  /**
   * Fires when the handler should stop: `finalizeBuffer` before the end, when the claim is lost, or at `stop`. Made when it
   * is first looked at: most handlers never do, and a signal and its timer cost more than all else of a short run.
   */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
      else if (this.#isWatched) this.#check();
    }
    return this.#controller.signal;
  }

  /** Whether there is time left to run a handler in. */
  get isUsable(): boolean {
    return !this.#reason && this.#timeLeft() > 0;
  }

  /** From now on the signal fires by itself. */
  watch(): void {
    this.#isWatched = true;
    clearTimeout(this.#timer);
    if (!this.#controller) return;
    const left = this.#timeLeft();
    this.#timer = setTimeout(() => this.#check(), Math.max(0, Math.min(left, longestTimer)));
  }

  extend(sentAt: number, duration: number): void {
    this.endsAt = Math.max(this.endsAt, sentAt + duration);
    // The answer may come after the handler ended: a timer set then would hold up the end of the process.
    if (this.#isWatched) this.watch();
  }

  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
    this.release();
  }

  release(): void {
    this.#isWatched = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    if (this.#timeLeft() > 0) this.watch();
    else this.abort(new LeaseExpiredError(this.#spec.queue, this.#task.id));
  }

  #timeLeft(): number {
    return this.endsAt - this.#spec.finalizeBuffer - performance.now();
  }
}
