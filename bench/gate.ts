import type { Metric } from "./metrics.ts";
import type { Results } from "./results.ts";

export interface GateRow {
  readonly row: string;
  readonly required: string;
  /** The median ratio; undefined where one of the two has failed. */
  readonly measured: number | undefined;
  readonly ok: boolean;
}

interface Requirement {
  readonly row: string;
  readonly scenario: string;
  readonly metric: Metric;
  /** The side whose ratio counts; to itself where both are pgqueue. */
  readonly to: "graphile-worker" | "pg-boss" | "floor" | "pgqueue";
  readonly atLeast?: number;
  readonly atMost?: number;
}

const requirements: readonly Requirement[] = [
  ...both("process", "trivial tasks", { "graphile-worker": 1.5, "pg-boss": 2.5 }),
  ...both("process-default", "trivial tasks by default settings", { "graphile-worker": 5, "pg-boss": 5 }),
  ...both("enqueue-many", "enqueueMany", { "graphile-worker": 3, "pg-boss": 3 }),
  ...both("enqueue-10", "enqueue with 10 callers", { "graphile-worker": 1.2, "pg-boss": 1.2 }),
  { row: "latency, median", scenario: "latency", metric: "latencyMedian", to: "graphile-worker", atMost: 1 },
  { row: "latency, p99", scenario: "latency", metric: "latencyP99", to: "graphile-worker", atMost: 1 },
  { row: "the worker", scenario: "process", metric: "rate", to: "floor", atLeast: 0.85 },
  { row: "a pinned xmin", scenario: "pinned", metric: "rate", to: "pgqueue", atLeast: 0.9 },
  { row: "claim time beside other rows", scenario: "claim", metric: "claimTime", to: "pgqueue", atMost: 1.5 },
  { row: "a large backlog", scenario: "backlog", metric: "rate", to: "pgqueue", atLeast: 0.9 },
  { row: "memory with a large backlog", scenario: "backlog", metric: "peakMemory", to: "pgqueue", atMost: 1.1 },
];

/** The scenarios that the gate has rows for. */
export const gatedScenarios: readonly string[] = [...new Set(requirements.map(({ scenario }) => scenario))];

/** What pgqueue is held to, and whether it is reached. A scenario that was not run has no rows; see `notGated`. */
export function gate({ scenarios }: Pick<Results, "scenarios">): GateRow[] {
  return requirements.flatMap(({ row, scenario: name, metric, to, atLeast, atMost }): GateRow[] => {
    const scenario = scenarios.find((one) => one.name === name);
    if (!scenario) return [];
    const sideOf = new Map(scenario.contenders.map((contender) => [contender.name, contender.side]));
    const comparisons = scenario.comparisons.filter(
      (one) => one.metric === metric && sideOf.get(one.of) === "pgqueue" && sideOf.get(one.to) === to,
    );
    const required = atLeast === undefined ? `<= ${atMost}` : `>= ${atLeast}`;
    if (comparisons.length === 0) return [{ row: `${row}, to ${to}`, required, measured: undefined, ok: false }];
    return comparisons.map(({ of, to, ratio }) => {
      const measured = ratio?.median;
      const ok = measured !== undefined && measured >= (atLeast ?? 0) && measured <= (atMost ?? Infinity);
      return { row: `${row}: ${of} to ${to}`, required, measured, ok };
    });
  });
}

/** What the gate would ask for beyond these scenarios. */
export function notGated({ scenarios }: Pick<Results, "scenarios">): string[] {
  const run = new Set(scenarios.map(({ name }) => name));
  return requirements
    .filter(({ scenario }) => !run.has(scenario))
    .map(({ row, scenario, to }) => `${row}, to ${to} (${scenario})`);
}

function both(scenario: string, row: string, least: Record<"graphile-worker" | "pg-boss", number>): Requirement[] {
  return (["graphile-worker", "pg-boss"] as const).map((to) => ({
    row,
    scenario,
    metric: "rate",
    to,
    atLeast: least[to],
  }));
}
