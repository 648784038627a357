import assert from "node:assert/strict";
import { createWorker, type Pgqueue, type Worker, type WorkerEvent, type WorkerOptions } from "pgqueue";
import { pgqueue } from "./shop.ts";
import type { Subject } from "./subject.ts";

type Options = Partial<Omit<WorkerOptions, "onEvent">>;

/** A worker whose events are kept; it is stopped at the end of the case. */
export class Observed {
  readonly worker: Worker;
  readonly events: WorkerEvent[] = [];

  constructor(subject: Subject, options: Options & { pgqueue?: Pgqueue<any, any> } = {}) {
    this.worker = createWorker({
      db: subject.db,
      pgqueue,
      ...(subject.mode === "pooled" ? { listen: false } : {}),
      ...options,
      onEvent: (event) => this.events.push(event),
    });
    subject.after(() => this.worker.stop({ timeout: 0 }));
  }

  /** What happened beside outcomes that were written. */
  get faults(): WorkerEvent[] {
    return this.events.filter(({ type }) => type !== "settled");
  }

  /** Resolves once so many outcomes were written. */
  settled(count: number, timeout?: number): Promise<void> {
    return until(() => this.events.filter(({ type }) => type === "settled").length >= count, timeout);
  }

  assertNoFault(): void {
    assert.deepEqual(this.faults, []);
  }
}

export async function until(isTrue: () => boolean | Promise<boolean>, timeout = 10_000): Promise<void> {
  const end = performance.now() + timeout;
  while (!(await isTrue())) {
    assert(performance.now() < end, `it did not come true within ${timeout} ms: ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
