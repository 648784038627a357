import type { Databases } from "../databases.ts";
import { MeasuredProcess } from "../measured-process.ts";
import type { Figures } from "../metrics.ts";
import { percentile } from "../statistics.ts";
import { type Contender, contenders, firstToOthers, type Scenario } from "./scenario.ts";

const warmUp = 50;

export function latencyScenario(quick: boolean): Scenario {
  const all = contenders(["pgqueue", "graphile-worker", "pg-boss"], "latency", quick ? 100 : 500);
  return {
    name: "latency",
    title: "From enqueue to handler, worker idle",
    metric: "latencyMedian",
    contenders: all,
    comparisons: [
      ...firstToOthers(all, "latencyMedian"),
      ...firstToOthers(all, "latencyP95"),
      ...firstToOthers(all, "latencyP99"),
    ],
    measure,
  };
}

async function measure(databases: Databases, { side, tuning, tasks }: Contender): Promise<Figures> {
  const database = await databases.filled(side, tuning, 0);
  const input = { side, tuning, url: database.url, warmUp, samples: tasks };
  const process = new MeasuredProcess("latency", input);
  try {
    await process.ready;
    await databases.settle();
    process.begin();
    const latencies = await process.report;
    return {
      latencyMedian: percentile(latencies, 50),
      latencyP95: percentile(latencies, 95),
      latencyP99: percentile(latencies, 99),
    };
  } finally {
    process.kill();
    await database.drop();
  }
}
