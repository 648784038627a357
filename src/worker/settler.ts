import type { Outcome } from "../queries/ends.ts";
import type { TaskStatus } from "../schema/columns.ts";
import { retry } from "../tasks/result.ts";
import { transition } from "../tasks/transition.ts";
import type { WorkerEvent } from "./event.ts";
import { isConflict, isCut, isOutage, isRefusal, mayBeOfOneRow } from "./fault.ts";
import { Gathered, worthOne } from "./gathered.ts";
import { halvesOf } from "./halves.ts";
import type { Host, Registration } from "./host.ts";
import { pause } from "./pause.ts";
import type { Run } from "./run.ts";
import { eventOf, type Settlement } from "./settlement.ts";
import { weightOf } from "./weight.ts";

/** So many batches are written at once, a further one only when it is worth a statement. */
const mostUnderWay = 2;
/** More of them while none was answered for so many milliseconds: a connection may have died without a word. */
const longestSilence = 1_000;
const mostInSilence = 4;
/** With so many outcomes that are not written, nothing more is claimed. */
const mostOpen = 4_000;
/** Nor with so many characters of JSON in them. */
const heaviestOpen = 16_000_000;
const firstDelay = 25;
const longestDelay = 2_000;

/**
 * Writes the outcomes of one spec: all that have gathered while the last batch was under way go together. What a batch
 * did not apply is looked up and, where its row was only locked, tried again for as long as the lease lasts.
 */
export class Settler {
  readonly #host: Host;
  readonly #registration: Registration;
  readonly #onPending: (delay: number) => void;
  readonly #gathered = new Gathered();
  readonly #open = new Set<Settlement>();
  #openWeight = 0;
  #isExpected = false;
  #underWay = 0;
  #heardAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #whenIdle: (() => void)[] = [];
  #whenBelow: (() => void)[] = [];

  /** `onPending` is told in how many milliseconds a settled task runs again. */
  constructor(host: Host, registration: Registration, onPending: (delay: number) => void) {
    this.#host = host;
    this.#registration = registration;
    this.#onPending = onPending;
  }

  settle(run: Run, outcome: Outcome, duration: number): void {
    const weight = weightOf(outcome);
    const settlement = { run, outcome, duration, weight, tries: 0, isUncertain: false, isReplaced: false };
    if (this.#host.closed.aborted) return;
    this.#open.add(settlement);
    this.#openWeight += weight;
    this.#gather(settlement);
  }

  /** Leaves what is not written yet to the end of its lease. */
  abandon(): void {
    for (const settlement of this.#open) {
      this.#close(settlement, eventOf(settlement, settlement.isUncertain ? "unknown" : "abandoned"));
    }
  }

  get isIdle(): boolean {
    return this.#open.size === 0;
  }

  /** Resolves when every outcome is written or given up. */
  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Resolves when few enough outcomes are open for more to come. */
  belowLimit(): Promise<void> {
    if (this.#isBelow || this.#host.closing.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#whenBelow.push(resolve));
  }

  get #isBelow(): boolean {
    return this.#open.size < mostOpen && this.#openWeight < heaviestOpen;
  }

  #gather(settlement: Settlement): void {
    this.#gathered.add(settlement);
    if (this.#underWay > 0) {
      if (this.#underWay < mostUnderWay && this.#gathered.length >= worthOne) void this.#flush();
      else this.#watch();
    } else if (!this.#isExpected) {
      this.#isExpected = true;
      // Not at once: handlers that end in the same turn of the event loop are settled together.
      void this.#host.nextTurn().then(() => {
        this.#isExpected = false;
        return this.#flush();
      });
    }
  }

  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#gathered.length === 0) return;
      const isSilent = performance.now() - this.#heardAt >= longestSilence;
      if (isSilent && this.#underWay < mostInSilence) void this.#flush();
      this.#watch();
    }, longestSilence).unref();
  }

  async #flush(): Promise<void> {
    this.#underWay++;
    this.#heardAt = performance.now();
    try {
      while (this.#gathered.length > 0) {
        const batch = this.#gathered.next().filter((settlement) => this.#open.has(settlement));
        if (batch.length > 0) await this.#write(batch);
        this.#heardAt = performance.now();
      }
    } finally {
      this.#underWay--;
    }
  }

  async #write(batch: Settlement[]): Promise<void> {
    const { db, pgqueue } = this.#host;
    const { spec } = this.#registration;
    try {
      const rows = await pgqueue.finalize(
        db,
        spec,
        batch.map(({ outcome }) => outcome),
      );
      this.#gathered.size.succeeded(batch.length);
      const applied = new Set(rows.map(({ id }) => id));
      for (const settlement of batch) if (applied.has(settlement.run.task.id)) this.#settled(settlement);
      const missed = batch.filter(({ run }) => !applied.has(run.task.id));
      if (missed.length > 0) await this.#lookUp(missed);
    } catch (error) {
      await this.#recover(batch, error);
    }
  }

  async #lookUp(missed: Settlement[]): Promise<void> {
    const { db, pgqueue } = this.#host;
    const tasks = missed.map(({ run }) => run.task);
    let holdings: Awaited<ReturnType<typeof pgqueue.heldBy>>;
    try {
      holdings = await pgqueue.heldBy(db, this.#registration.spec, tasks);
    } catch (error) {
      this.#host.report({ type: "error", during: "settle", queue: this.#registration.spec.queue, error });
      for (const settlement of missed) void this.#later(settlement);
      return;
    }
    for (const [i, settlement] of missed.entries()) {
      const { holding, status } = holdings[i]!;
      if (holding === "busy") void this.#later(settlement);
      else this.#over(settlement, status);
    }
  }

  /** What is no fault of the outcomes is over some day: they are written then, unless their lease is over before. */
  async #recover(batch: Settlement[], error: unknown): Promise<void> {
    if (isRefusal(error)) return this.#replace(batch, error);
    this.#reportError(error);
    // Whatever else it is, it may be about some of them.
    const isOfAll = isConflict(error) || (isOutage(error) && !mayBeOfOneRow(error));
    if (!isOfAll) this.#gathered.size.failed(batch.length);
    for (const settlement of batch) {
      settlement.isUncertain ||= isCut(error);
      void this.#later(settlement);
    }
  }

  async #replace(batch: Settlement[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      for (const half of halvesOf(batch)) await this.#write(half);
      return;
    }
    const [one] = batch as [Settlement];
    this.#reportError(error);
    if (one.isReplaced) return void this.#later(one);
    one.isReplaced = true;
    one.outcome = { task: one.outcome.task, result: retry(error) };
    await this.#write(batch);
  }

  /** Once more after a while; a task whose lease is over by then is somebody else's. */
  async #later(settlement: Settlement): Promise<void> {
    if (performance.now() >= settlement.run.lease.endsAt) return this.#over(settlement);
    await pause(Math.min(firstDelay * 2 ** settlement.tries++, longestDelay), this.#host.closed);
    if (this.#open.has(settlement)) this.#gather(settlement);
  }

  #settled(settlement: Settlement): void {
    const { run, outcome, duration } = settlement;
    const { result } = outcome;
    const { status, delay } = transition(this.#registration.spec, run.task, result);
    if (status === "pending" && delay !== null) this.#onPending(delay);
    const { id, queue, attempt } = run.task;
    const event = { type: "settled", queue, taskId: id, attempt, result: result.type, status, duration } as const;
    this.#close(settlement, result.type === "done" ? event : { ...event, error: result.error });
  }

  /**
   * The claim ended without this outcome: by the handler's own `ctx.finalize`, by an earlier try, or by another holder.
   * While the lease lasts no reaper had the task, so what `ctx.finalize` leads to is its doing.
   */
  #over(settlement: Settlement, status?: TaskStatus): void {
    const { run, outcome, isUncertain } = settlement;
    const { finalized, task, lease } = run;
    if (!finalized) return this.#close(settlement, eventOf(settlement, isUncertain ? "unknown" : "lost"));
    const next = transition(this.#registration.spec, task, finalized);
    const isItsDoing = next.isDeleted ? status === undefined : status === next.status;
    if (!isItsDoing || performance.now() >= lease.endsAt)
      return this.#close(settlement, eventOf(settlement, "unknown"));
    if (run.failed && outcome.result.type !== "done") this.#reportError(outcome.result.error);
    settlement.outcome = { ...outcome, result: finalized };
    this.#settled(settlement);
  }

  #close(settlement: Settlement, event: WorkerEvent): void {
    if (!this.#open.delete(settlement)) return;
    this.#openWeight -= settlement.weight;
    this.#host.report(event);
    if (this.#whenBelow.length > 0 && this.#isBelow) resolveAll(this.#whenBelow);
    if (this.#whenIdle.length > 0 && this.isIdle) resolveAll(this.#whenIdle);
  }

  #reportError(error: unknown): void {
    this.#host.report({ type: "error", during: "settle", queue: this.#registration.spec.queue, error });
  }
}

function resolveAll(waiting: (() => void)[]): void {
  for (const resolve of waiting.splice(0)) resolve();
}
