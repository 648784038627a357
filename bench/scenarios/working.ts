import { setTimeout as pause } from "node:timers/promises";
import type { WorkInput, WorkReport } from "../activities/work.ts";
import type { Bench } from "../bench.ts";
import type { Database, ServerWork } from "../databases.ts";
import { MeasuredProcess } from "../measured-process.ts";
import type { Figures } from "../metrics.ts";
import { loadSide } from "../sides/load.ts";
import type { Contender } from "./scenario.ts";

export interface WorkingOptions {
  processes?: number;
  handlerTime?: number;
  deletes?: boolean;
  /** How many tasks are worked off before, in another database. */
  warmUp: number;
}

const longestSilence = 60_000;

/**
 * How fast a side works off all tasks of a database: from its first handler to when the last task is written as
 * completed, by the clock of the measuring process. What connecting takes is left out.
 *
 * @throws when a task was not handled exactly once.
 */
export async function workOff(
  bench: Bench,
  contender: Contender,
  { processes = 1, handlerTime = 0, deletes = false, warmUp }: WorkingOptions,
): Promise<Figures> {
  const { side: name, tuning, tasks } = contender;
  const side = await loadSide(name);
  const database = await bench.filled(name, tuning, tasks);
  const warmUps = await Promise.all(Array.from({ length: processes }, () => bench.filled(name, tuning, warmUp)));
  const input = { side: name, tuning, url: database.url, tasks, handlerTime, deletes };
  const workers = warmUps.map(({ url }) => startWorker({ ...input, warmUp: { url, tasks: warmUp } }));
  try {
    await Promise.all(workers.map(({ ready }) => ready));
    await bench.databases.settle();
    const before = await bench.databases.work(database);
    const progress = new Progress(workers);
    for (const worker of workers) worker.begin();
    await progress.reaches(tasks);
    const isLeft = async () => deletes && (await database.count(side.countTasks)) > 0;
    const deadline = performance.now() + longestSilence;
    while ((await hasUnfinished(database, side.hasUnfinished)) || (await isLeft())) {
      if (performance.now() > deadline) throw new Error("All tasks were handled, but they are not all completed.");
      await pause(2);
    }
    const elapsed = performance.now() - progress.beganAt;
    const after = await bench.databases.work(database);
    const reports = await endAll(workers);
    checkOnce(reports, tasks);
    await checkCompleted(database, side.countCompleted, deletes || side.deletesAlways ? 0 : tasks);
    return { rate: ((tasks - 1) / elapsed) * 1_000, ...costs(before, after, reports, tasks) };
  } finally {
    for (const worker of workers) worker.kill();
    for (const used of [database, ...warmUps]) await used.drop();
  }
}

export function startWorker(input: WorkInput): MeasuredProcess<"work"> {
  return new MeasuredProcess("work", input);
}

export async function endAll(workers: readonly MeasuredProcess<"work">[]): Promise<WorkReport[]> {
  for (const worker of workers) worker.end();
  return Promise.all(workers.map(({ report }) => report));
}

/** How many tasks the workers have handled together. */
export class Progress {
  /** When the first handler ran, as `performance.now()`. */
  beganAt = Number.NaN;
  /** Called at each report. */
  onReport: (done: number) => void = () => {};
  readonly #failure: Promise<never>;
  readonly #done: number[];
  readonly #waiting: { count: number; resolve: (at: number) => void }[] = [];

  constructor(workers: readonly MeasuredProcess<"work">[]) {
    this.#done = workers.map(() => 0);
    for (const [i, worker] of workers.entries()) {
      worker.onProgress = (done) => {
        this.#done[i] = done;
        this.#reported();
      };
    }
    // A worker reports only at its end; before, it can but fail.
    this.#failure = Promise.race(workers.map(({ report }) => report)).then(() => {
      throw new Error("A worker ended too early.");
    });
    this.#failure.catch(() => {});
  }

  get done(): number {
    return this.#done.reduce((sum, done) => sum + done, 0);
  }

  /** Resolves to when so many were handled, as `performance.now()`. */
  async reaches(count: number): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#waiting.push({ count, resolve });
    this.#serve();
    const quiet = new AbortController();
    try {
      return await Promise.race([promise, this.#failure, this.#silence(count, quiet.signal)]);
    } finally {
      quiet.abort();
    }
  }

  #reported(): void {
    if (Number.isNaN(this.beganAt)) this.beganAt = performance.now();
    this.onReport(this.done);
    this.#serve();
  }

  #serve(): void {
    const now = performance.now();
    for (const { count, resolve } of this.#waiting) if (this.done >= count) resolve(now);
  }

  async #silence(count: number, signal: AbortSignal): Promise<never> {
    for (let before = -1; before < this.done; ) {
      before = this.done;
      await pause(longestSilence, undefined, { signal }).catch(() => {});
      if (signal.aborted) return new Promise(() => {});
    }
    throw new Error(`Only ${this.done} of ${count} tasks were handled; then there was silence.`);
  }
}

export function costs(before: ServerWork, after: ServerWork, reports: readonly WorkReport[], tasks: number): Figures {
  const cpu = reports.reduce((sum, report) => sum + report.cpu, 0);
  return {
    workerCpu: (cpu / tasks) * 1_000,
    ...(before.cpu === undefined || after.cpu === undefined
      ? {}
      : { serverCpu: ((after.cpu - before.cpu) / tasks) * 1_000 }),
    peakMemory: Math.max(...reports.map(({ peakMemory }) => peakMemory)) / 1_000_000,
    walBytes: (after.walBytes - before.walBytes) / tasks,
    statements: (after.statements - before.statements) / tasks,
  };
}

/** @throws when a task was not handled exactly once. */
function checkOnce(reports: readonly WorkReport[], tasks: number): void {
  const wrong = Array.from({ length: tasks }, (_, n) => timesHandled(reports, n)).filter((times) => times !== 1);
  if (wrong.length > 0) throw new Error(`${wrong.length} of ${tasks} tasks were not handled exactly once.`);
}

/** @throws when a task was handled more than once. */
export function checkAtMostOnce(reports: readonly WorkReport[]): void {
  const tasks = reports[0]?.seen.length ?? 0;
  const wrong = Array.from({ length: tasks }, (_, n) => timesHandled(reports, n)).filter((times) => times > 1);
  if (wrong.length > 0) throw new Error(`${wrong.length} tasks were handled more than once.`);
}

function timesHandled(reports: readonly WorkReport[], n: number): number {
  return reports.reduce((sum, { seen }) => sum + seen[n]!, 0);
}

async function checkCompleted(database: Database, countCompleted: string, expected: number): Promise<void> {
  const completed = await database.count(countCompleted);
  if (completed !== expected) throw new Error(`${completed} rows say completed, not ${expected}.`);
}

async function hasUnfinished(database: Database, select: string): Promise<boolean> {
  const [row] = await database.query<{ exists: boolean }>(select);
  return row!.exists;
}
