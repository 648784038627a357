import type { Bench } from "../bench.ts";
import type { Figures } from "../metrics.ts";
import type { SideName } from "../sides/side.ts";
import type { Contender, Scenario } from "./scenario.ts";
import { checkAtMostOnce, costs, endAll, Progress, startWorker } from "./working.ts";

const warmUp = 5_000;

interface BacklogContender extends Contender {
  /** How many tasks are due still when the last of those measured is done. */
  backlog: number;
}

export function backlogScenario(quick: boolean): Scenario {
  const large = quick ? 100_000 : 1_000_000;
  const pair = (side: SideName, tasks: number) =>
    [10_000, large].map(
      (backlog): BacklogContender => ({
        name: `${side}, ${backlog.toLocaleString("en")} due`,
        side,
        tuning: "best",
        tasks,
        backlog,
      }),
    );
  const tasks = quick ? 20_000 : 50_000;
  // pg-boss reads its whole backlog at each fetch.
  const pairs = [pair("pgqueue", tasks), pair("graphile-worker", tasks), pair("pg-boss", tasks / 5)];
  return {
    name: "backlog",
    title: "Trivial tasks with many more behind them",
    metric: "rate",
    contenders: pairs.flat(),
    comparisons: pairs.flatMap(([small, large]) => [
      { of: large!.name, to: small!.name, metric: "rate" },
      { of: large!.name, to: small!.name, metric: "peakMemory" },
    ]),
    measure: (bench, contender) => measure(bench, contender as BacklogContender),
  };
}

async function measure(bench: Bench, { side, tuning, tasks, backlog }: BacklogContender): Promise<Figures> {
  const database = await bench.filled(side, tuning, tasks + backlog);
  const other = await bench.filled(side, tuning, warmUp);
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
    await bench.databases.settle();
    const before = await bench.databases.work(database);
    const progress = new Progress([worker]);
    worker.begin();
    const elapsed = (await progress.reaches(tasks)) - progress.beganAt;
    const { done } = progress;
    const after = await bench.databases.work(database);
    const reports = await endAll([worker]);
    checkAtMostOnce(reports);
    return { rate: ((tasks - 1) / elapsed) * 1_000, ...costs(before, after, reports, done) };
  } finally {
    worker.kill();
    await database.drop();
    await other.drop();
  }
}
