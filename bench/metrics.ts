/** What is measured, in the order of the table's columns. */
export const metrics = {
  rate: { title: "tasks/s", digits: 0, better: "more" },
  latencyMedian: { title: "median ms", digits: 2, better: "less" },
  latencyP95: { title: "p95 ms", digits: 2, better: "less" },
  latencyP99: { title: "p99 ms", digits: 2, better: "less" },
  claimTime: { title: "claim ms", digits: 2, better: "less" },
  workerCpu: { title: "client CPU µs/task", digits: 1, better: "less" },
  serverCpu: { title: "server CPU µs/task", digits: 1, better: "less" },
  peakMemory: { title: "peak MB", digits: 0, better: "less" },
  walBytes: { title: "WAL bytes/task", digits: 0, better: "less" },
  statements: { title: "statements/task", digits: 4, better: "less" },
} as const;

export type Metric = keyof typeof metrics;

/** What one measurement of one contender gave. */
export type Figures = Partial<Record<Metric, number>>;

/** A rate that is no more than a few is not rounded to nothing. */
export function digitsOf(metric: Metric, value: number): number {
  return metric === "rate" && value < 10 ? 2 : metrics[metric].digits;
}

export const metricNames = Object.keys(metrics) as Metric[];
