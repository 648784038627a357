import type { Outcome } from "../queries/ends.ts";
import type { TaskStatus } from "../schema/columns.ts";
import { retry } from "../tasks/result.ts";
import { transition } from "../tasks/transition.ts";
import type { WorkerEvent } from "./event.ts";
import { isConflict, isCut, isOutage } from "./fault.ts";
import type { Host, Registration } from "./host.ts";
import { pause } from "./pause.ts";
import type { Run } from "./run.ts";

const largestBatch = 1_000;
/** So many batches are written at once, a further one only when it is worth a statement. */
const mostUnderWay = 2;
const worthAnother = 100;
/** With so many outcomes that are not written, nothing more is claimed. */
const mostOpen = 2_000;
const firstDelay = 25;
const longestDelay = 2_000;

interface Settlement {
  readonly run: Run;
  outcome: Outcome;
  readonly duration: number;
  tries: number;
  /** Whether an earlier try may have been committed without our learning it. */
  isUncertain: boolean;
  /** Whether the handler's own outcome could not be written, and its refusal is written instead. */
  isReplaced: boolean;
}

/**
 * Writes the outcomes of one spec: all that have gathered while the last batch was under way go together. What a batch
 * did not apply is looked up and, where its row was only locked, tried again for as long as the lease lasts.
 */
export class Settler {
  readonly #host: Host;
  readonly #registration: Registration;
  readonly #onPending: (delay: number) => void;
  #gathered: Settlement[] = [];
  readonly #open = new Set<Settlement>();
  #isExpected = false;
  #underWay = 0;
  #whenIdle: (() => void)[] = [];
  #whenBelow: (() => void)[] = [];

  /** `onPending` is told in how many milliseconds a settled task runs again. */
  constructor(host: Host, registration: Registration, onPending: (delay: number) => void) {
    this.#host = host;
    this.#registration = registration;
    this.#onPending = onPending;
  }

  settle(run: Run, outcome: Outcome, duration: number): void {
    const settlement = { run, outcome, duration, tries: 0, isUncertain: false, isReplaced: false };
    if (this.#host.closed.aborted) return;
    this.#open.add(settlement);
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
    if (this.#open.size < mostOpen || this.#host.closing.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#whenBelow.push(resolve));
  }

  #gather(settlement: Settlement): void {
    this.#gathered.push(settlement);
    if (this.#underWay > 0) {
      if (this.#underWay < mostUnderWay && this.#gathered.length >= worthAnother) void this.#flush();
    } else if (!this.#isExpected) {
      this.#isExpected = true;
      // Not at once: handlers that end in the same turn of the event loop are settled together.
      void this.#host.nextTurn().then(() => {
        this.#isExpected = false;
        return this.#flush();
      });
    }
  }

  async #flush(): Promise<void> {
    this.#underWay++;
    try {
      while (this.#gathered.length > 0) {
        const batch = this.#nextBatch().filter((settlement) => this.#open.has(settlement));
        if (batch.length > 0) await this.#write(batch);
      }
    } finally {
      this.#underWay--;
    }
  }

  /** Where there are enough of one claim they go by themselves: Postgres finds them faster. */
  #nextBatch(): Settlement[] {
    const token = this.#gathered[0]?.run.task.token;
    const others = this.#gathered.findIndex(({ run }) => run.task.token !== token);
    return this.#gathered.splice(0, others >= worthAnother ? Math.min(others, largestBatch) : largestBatch);
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

  async #recover(batch: Settlement[], error: unknown): Promise<void> {
    const [first] = batch;
    if (isOutage(error) || isConflict(error)) {
      this.#reportError(error);
      for (const settlement of batch) {
        settlement.isUncertain ||= isCut(error);
        void this.#later(settlement);
      }
    } else if (batch.length > 1) {
      for (const settlement of batch) await this.#write([settlement]);
    } else if (first && !first.isReplaced) {
      this.#reportError(error);
      first.isReplaced = true;
      first.outcome = { task: first.outcome.task, result: retry(error) };
      await this.#write([first]);
    } else if (first) {
      this.#reportError(error);
      void this.#later(first);
    }
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
    this.#host.report(event);
    if (this.#whenBelow.length > 0 && this.#open.size < mostOpen) resolveAll(this.#whenBelow);
    if (this.#whenIdle.length > 0 && this.isIdle) resolveAll(this.#whenIdle);
  }

  #reportError(error: unknown): void {
    this.#host.report({ type: "error", during: "settle", queue: this.#registration.spec.queue, error });
  }
}

function eventOf({ run }: Settlement, type: "lost" | "unknown" | "abandoned"): WorkerEvent {
  return { type, queue: run.task.queue, taskId: run.task.id };
}

function resolveAll(waiting: (() => void)[]): void {
  for (const resolve of waiting.splice(0)) resolve();
}
