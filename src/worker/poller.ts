import { Agenda } from "./agenda.ts";
import { Backoff } from "./backoff.ts";
import { largestBatch } from "./batch-size.ts";
import type { Claimer } from "./claimer.ts";
import { throughConflicts } from "./conflict.ts";
import { isConflict, isOutage, isUniqueViolation } from "./fault.ts";
import type { Host, Registration } from "./host.ts";
import type { Prefetch } from "./prefetch.ts";
import type { Quarantine } from "./quarantine.ts";
import type { Runner } from "./runner.ts";
import type { Settler } from "./settler.ts";
import type { Slots } from "./slots.ts";
import { Wake } from "./wake.ts";

interface Parts {
  readonly claimer: Claimer;
  readonly runner: Runner;
  readonly settler: Settler;
  readonly slots: Slots;
  readonly quarantine: Quarantine;
  readonly prefetch: Prefetch;
}

/** How much a claim may bring: so many slots were taken for the first of them. */
interface Room {
  readonly slots: number;
  readonly limit: number;
}

/** Feeds the runner of one spec: claims until nothing is due, then waits to be woken or for the poll interval. */
export class Poller {
  readonly #host: Host;
  readonly #registration: Registration;
  readonly #parts: Parts;
  readonly #wake = new Wake();
  readonly #backoff = new Backoff();
  readonly #lateness = new Backoff();
  readonly #agenda = new Agenda();
  #late = 0;
  #hasSuspects = false;

  constructor(host: Host, registration: Registration, parts: Parts) {
    this.#host = host;
    this.#registration = registration;
    this.#parts = parts;
  }

  /** Something may be due. */
  wake(): void {
    this.#wake.call();
  }

  /** Suspects that were left out may begin. */
  wakeForSuspects(): void {
    if (this.#hasSuspects) this.wake();
  }

  /** Something will be due in so many milliseconds. */
  expect(delay: number): void {
    if (this.#agenda.add(performance.now() + delay)) this.wake();
  }

  /** Resolves when the worker stops. */
  async run(): Promise<void> {
    const { closing } = this.#host;
    while (!closing.aborted) {
      try {
        while ((await this.take({ ahead: true })) > 0) {
          this.#backoff.reset();
          await this.#catchUp();
        }
        this.#backoff.reset();
      } catch (error) {
        this.#host.report({ type: "error", during: "claim", queue: this.#registration.spec.queue, error });
        if (isOutage(error) || isConflict(error) || isUniqueViolation(error)) {
          await this.#backoff.wait(closing);
          continue;
        }
      }
      if (!closing.aborted) await this.#sleep();
    }
  }

  /** Tasks that come too late to be begun would be claimed and given back without end. */
  async #catchUp(): Promise<void> {
    const { late } = this.#parts.runner.counts;
    if (late === this.#late) return this.#lateness.reset();
    this.#late = late;
    const { queue, leaseDuration } = this.#registration.spec;
    const message = `tasks of queue "${queue}" came too late to be begun within their lease of ${leaseDuration} ms, and were given back`;
    this.#host.report({ type: "warning", message });
    await this.#lateness.wait(this.#host.closing);
  }

  async #sleep(): Promise<void> {
    const { pollInterval } = this.#registration.spec;
    const untilDue = Math.max(0, this.#agenda.next - performance.now());
    await this.#wake.wait(Math.min(pollInterval, untilDue));
    this.#agenda.pass();
  }

  /**
   * Claims once, as much as can run now, and ahead of it where that is wanted, and starts it. Resolves to how much that was:
   * 0 only when nothing is due, or the worker is closing; a claim may be short because rows changed under it.
   */
  async take({ ahead = false } = {}): Promise<number> {
    const { claimer, runner, slots, quarantine } = this.#parts;
    const { closing } = this.#host;
    const room = await this.#room(ahead);
    let used = 0;
    try {
      if (room.limit === 0 || closing.aborted) return 0;
      const crashed = quarantine.isFree;
      // Before the claim is sent: the quarantine may be free again before it is answered.
      this.#hasSuspects = !crashed;
      const { tasks, sentAt } = await throughConflicts(closing, () => claimer.claim(room.limit, { crashed }));
      if (closing.aborted) {
        runner.giveBack(tasks, sentAt);
        return 0;
      }
      used = runner.start(tasks, sentAt, room.slots);
      return tasks.length;
    } finally {
      slots.give(room.slots - used);
    }
  }

  /** Waits for a free slot; or, where tasks are claimed ahead, until half of those have begun. */
  async #room(ahead: boolean): Promise<Room> {
    const { runner, settler, slots, prefetch } = this.#parts;
    const isTicker = this.#registration.spec.kind === "ticker";
    const most = isTicker ? 1 : largestBatch;
    while (!this.#host.closing.aborted) {
      await settler.belowLimit();
      const target = ahead && !isTicker ? prefetch.target : 0;
      const free = runner.ahead === 0 ? slots.takeFree(most) : 0;
      const isLow = runner.ahead <= target / 2;
      const more = isLow ? target - runner.ahead : 0;
      if (free > 0 || more > 0) return { slots: free, limit: Math.min(most, free + more) };
      if (runner.ahead > 0) await runner.low(target / 2);
      else {
        const taken = await slots.take(most);
        return { slots: taken, limit: taken };
      }
    }
    return { slots: 0, limit: 0 };
  }
}
