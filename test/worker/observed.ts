import { afterEach, expect, vi } from "vitest";
import type { Db } from "../../src/queries/statement.ts";
import type { Spec } from "../../src/tasks/spec.ts";
import { createWorker } from "../../src/worker/create.ts";
import type { WorkerEvent } from "../../src/worker/event.ts";
import type { Handler } from "../../src/worker/handler.ts";
import type { Worker, WorkerOptions } from "../../src/worker/worker.ts";
import { pgqueue } from "../queries/jobs.ts";

type EventOf<Type extends WorkerEvent["type"]> = Extract<WorkerEvent, { type: Type }>;

interface ObserveOptions extends Partial<Omit<WorkerOptions, "db" | "onEvent">> {
  /** Events that are expected here; any other fault fails the test. */
  tolerate?: WorkerEvent["type"][];
}

/** A worker whose events are kept. It is stopped at the end of the test, which fails if it met a fault. */
export class Observed {
  readonly events: WorkerEvent[] = [];
  readonly worker: Worker;
  readonly #tolerated: ReadonlySet<string>;

  constructor(db: Db, { tolerate = [], ...options }: ObserveOptions = {}) {
    this.#tolerated = new Set(["settled", ...tolerate]);
    this.worker = createWorker({ pgqueue, ...options, db, onEvent: (event) => this.events.push(event) });
    observed.push(this);
  }

  on(spec: Spec, handler: Handler<any>): this {
    this.worker.register(spec as never, handler as never);
    return this;
  }

  async start(): Promise<this> {
    await this.worker.start();
    return this;
  }

  of<Type extends WorkerEvent["type"]>(type: Type): EventOf<Type>[] {
    return this.events.filter((event): event is EventOf<Type> => event.type === type);
  }

  /** Resolves once there were so many events of a type. */
  async seen<Type extends WorkerEvent["type"]>(type: Type, count = 1, timeout = 10_000): Promise<EventOf<Type>[]> {
    await until(() => this.of(type).length >= count, timeout);
    return this.of(type);
  }

  get faults(): WorkerEvent[] {
    return this.events.filter(({ type }) => !this.#tolerated.has(type));
  }
}

const observed: Observed[] = [];

export function observe(db: Db, options?: ObserveOptions): Observed {
  return new Observed(db, options);
}

afterEach(async () => {
  const all = observed.splice(0);
  await Promise.all(all.map(({ worker }) => worker.stop({ timeout: 0 })));
  for (const { faults } of all) expect(faults).toEqual([]);
});

/** Resolves to what `look` finds once it is truthy. */
export function until<T>(look: () => T | Promise<T>, timeout = 10_000): Promise<NonNullable<T>> {
  return vi.waitFor(
    async () => {
      const found = await look();
      if (!found) throw new Error(`it never came true: ${look}`);
      return found;
    },
    { timeout, interval: 4 },
  );
}
