import postgres from "postgres";
import type { Databases } from "../databases.ts";
import type { Figures } from "../metrics.ts";
import { loadSide } from "../sides/load.ts";
import type { SideName } from "../sides/side.ts";
import { checkAtMostOnce } from "./handled.ts";
import { Progress } from "./progress.ts";
import type { Contender, Scenario } from "./scenario.ts";
import { endAll, startWorker } from "./working.ts";

const warmUp = 5_000;
/** So many tasks more than are worked off: no side should run out of them while it is measured. */
const spare = 50_000;

interface PinnedContender extends Contender {
  isPinned: boolean;
  /** How many tasks are worked off before those that are measured. */
  before: number;
}

export function pinnedScenario(quick: boolean): Scenario {
  const pair = (side: SideName) =>
    [false, true].map(
      (isPinned): PinnedContender => ({
        name: isPinned ? `${side}, pinned` : side,
        side,
        tuning: "best",
        tasks: quick ? 20_000 : 50_000,
        isPinned,
        before: quick ? 40_000 : 150_000,
      }),
    );
  const pairs = [pair("pgqueue"), pair("graphile-worker"), pair("pg-boss")];
  const before = pairs[0]![0]!.before.toLocaleString("en");
  return {
    name: "pinned",
    title: `Trivial tasks after ${before} others, with and without an open transaction that has read`,
    metric: "rate",
    contenders: pairs.flat(),
    comparisons: pairs.map(([free, pinned]) => ({ of: pinned!.name, to: free!.name, metric: "rate" })),
    measure: (databases, contender) => measure(databases, contender as PinnedContender),
  };
}

async function measure(databases: Databases, contender: PinnedContender): Promise<Figures> {
  const { side: name, tuning, tasks, before, isPinned } = contender;
  const side = await loadSide(name);
  const database = await databases.filled(name, tuning, before + tasks + spare);
  const other = await databases.filled(name, tuning, warmUp);
  const { url } = database;
  const worker = startWorker({
    side: name,
    tuning,
    url,
    warmUp: { url: other.url, tasks: warmUp },
    tasks: before + tasks + spare,
    handlerTime: 0,
    deletes: false,
  });
  const reader = postgres(url, { max: 1 });
  try {
    await worker.ready;
    await databases.settle();
    if (isPinned) {
      await reader.unsafe("begin isolation level repeatable read");
      await reader.unsafe(side.countTasks);
    }
    const progress = new Progress([worker]);
    worker.begin();
    const from = await progress.reaches(before);
    const to = await progress.reaches(from.done + tasks);
    checkAtMostOnce(await endAll([worker]));
    return { rate: ((to.done - from.done) / (to.at - from.at)) * 1_000 };
  } finally {
    worker.kill();
    await reader.end({ timeout: 0 });
    await database.drop();
    await other.drop();
  }
}
