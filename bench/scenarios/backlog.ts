import type { Databases } from "../databases.ts";
import type { Figures } from "../metrics.ts";
import type { SideName } from "../sides/side.ts";
import { workersCosts } from "./costs.ts";
import { checkAtMostOnce } from "./handled.ts";
import { Progress } from "./progress.ts";
import type { Contender, Scenario } from "./scenario.ts";
import { endAll, startWorker } from "./working.ts";

const warmUp = 5_000;

interface BacklogContender extends Contender {
  /** How many tasks are due still when the last of those measured is done. */
  backlog: number;
}

export function backlogScenario(quick: boolean): Scenario {
  const large = quick ? 100_000 : 1_000_000;
  const tasks = quick ? 20_000 : 50_000;
  const pair = (side: SideName) =>
    [10_000, large].map(
      (backlog): BacklogContender => ({
        name: `${side}, ${backlog.toLocaleString("en")} due`,
        side,
        tuning: "best",
        tasks,
        backlog,
      }),
    );
  const pairs = [pair("pgqueue"), pair("graphile-worker"), pair("pg-boss")];
  return {
    name: "backlog",
    title: "Trivial tasks with many more behind them",
    metric: "rate",
    contenders: pairs.flat(),
    comparisons: pairs.flatMap(([small, large]) => [
      { of: large!.name, to: small!.name, metric: "rate" },
      { of: large!.name, to: small!.name, metric: "peakMemory" },
    ]),
    measure: (databases, contender) => measure(databases, contender as BacklogContender),
  };
}

async function measure(databases: Databases, { side, tuning, tasks, backlog }: BacklogContender): Promise<Figures> {
  const database = await databases.filled(side, tuning, tasks + backlog);
  const other = await databases.filled(side, tuning, warmUp);
  const worker = startWorker({
    side,
    tuning,
    url: database.url,
    warmUp: { url: other.url, tasks: warmUp },
    tasks: tasks + backlog,
    handlerTime: 0,
    deletes: false,
  });
  try {
    await worker.ready;
    await databases.settle();
    const before = await databases.work(database);
    const progress = new Progress([worker]);
    worker.begin();
    const { at, done } = await progress.reaches(tasks);
    const after = await databases.work(database);
    // Some more meanwhile: the costs are those of these too.
    const paid = progress.done;
    const reports = await endAll([worker]);
    checkAtMostOnce(reports);
    return { rate: ((done - 1) / (at - progress.beganAt)) * 1_000, ...workersCosts(before, after, reports, paid) };
  } finally {
    worker.kill();
    await database.drop();
    await other.drop();
  }
}
