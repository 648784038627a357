import { setTimeout as pause } from "node:timers/promises";
import type { WorkInput, WorkReport } from "../activities/work.ts";
import type { Database, Databases } from "../databases.ts";
import { MeasuredProcess } from "../measured-process.ts";
import type { Figures } from "../metrics.ts";
import { loadSide } from "../sides/load.ts";
import { workersCosts } from "./costs.ts";
import { checkOnce } from "./handled.ts";
import { Progress } from "./progress.ts";
import type { Contender } from "./scenario.ts";

export interface WorkingOptions {
  processes?: number;
  handlerTime?: number;
  deletes?: boolean;
  /** How many tasks are worked off before, in another database. */
  warmUp: number;
}

const longestCompletion = 60_000;

/**
 * How fast a side works off all tasks of a database: from its first handler to when the last task is written as
 * completed, by the clock of the measuring process. What connecting takes is left out.
 *
 * @throws when a task was not handled exactly once.
 */
export async function workOff(
  databases: Databases,
  contender: Contender,
  { processes = 1, handlerTime = 0, deletes = false, warmUp }: WorkingOptions,
): Promise<Figures> {
  const { side: name, tuning, tasks } = contender;
  const side = await loadSide(name);
  const database = await databases.filled(name, tuning, tasks);
  const warmUps = await Promise.all(Array.from({ length: processes }, () => databases.filled(name, tuning, warmUp)));
  const input = { side: name, tuning, url: database.url, tasks, handlerTime, deletes };
  const workers = warmUps.map(({ url }) => startWorker({ ...input, warmUp: { url, tasks: warmUp } }));
  try {
    await Promise.all(workers.map(({ ready }) => ready));
    await databases.settle();
    const before = await databases.work(database);
    const progress = new Progress(workers);
    for (const worker of workers) worker.begin();
    await progress.reaches(tasks);
    const isLeft = async () => deletes && (await database.count(side.countTasks)) > 0;
    const deadline = performance.now() + longestCompletion;
    while ((await hasUnfinished(database, side.hasUnfinished)) || (await isLeft())) {
      if (performance.now() > deadline) throw new Error("All tasks were handled, but they are not all completed.");
      await pause(2);
    }
    const elapsed = performance.now() - progress.beganAt;
    const after = await databases.work(database);
    const reports = await endAll(workers);
    checkOnce(reports, tasks);
    await checkCompleted(database, side.countCompleted, deletes || side.deletesAlways ? 0 : tasks);
    return { rate: ((tasks - 1) / elapsed) * 1_000, ...workersCosts(before, after, reports, tasks) };
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

async function checkCompleted(database: Database, countCompleted: string, expected: number): Promise<void> {
  const completed = await database.count(countCompleted);
  if (completed !== expected) throw new Error(`${completed} rows say completed, not ${expected}.`);
}

async function hasUnfinished(database: Database, select: string): Promise<boolean> {
  const [row] = await database.query<{ exists: boolean }>(select);
  return row!.exists;
}
