import type { Figures, Metric } from "./metrics.ts";
import { metricNames } from "./metrics.ts";
import type { Comparison, Contender, Scenario } from "./scenarios/scenario.ts";
import type { SideName, Tuning } from "./sides/side.ts";
import { type Summary, summarize } from "./statistics.ts";

/** What a whole run gave: enough to draw its tables and charts again. */
export interface Results {
  readonly date: string;
  /** A quick run measures too little to be quoted. */
  readonly quick: boolean;
  readonly machine: Record<string, string | number>;
  readonly versions: Record<string, string>;
  readonly server: Record<string, string>;
  readonly scenarios: readonly ScenarioResult[];
}

export interface ScenarioResult {
  readonly name: string;
  readonly title: string;
  readonly metric: Metric;
  readonly repetitions: number;
  readonly contenders: readonly ContenderResult[];
  readonly comparisons: readonly ComparisonResult[];
}

export interface ContenderResult {
  readonly name: string;
  readonly side: SideName;
  readonly tuning: Tuning;
  readonly settings: Record<string, unknown>;
  readonly tasks: number;
  readonly figures: Partial<Record<Metric, Summary>>;
  /** Why it has no figures. */
  readonly error?: string;
}

/** `of` divided by `to`, in each repetition; the median is that of these ratios. */
export interface ComparisonResult extends Comparison {
  /** None where one of the two has failed. */
  readonly ratio?: Summary;
}

/** What was measured of one contender, in the order of the repetitions, or why there is nothing. */
export type Measured = { figures: Figures[] } | { error: string };

export function scenarioResult(
  scenario: Scenario,
  measured: ReadonlyMap<string, Measured>,
  settingsOf: (contender: Contender) => Record<string, unknown>,
): ScenarioResult {
  const contenders = scenario.contenders.map((contender): ContenderResult => {
    const { name, side, tuning, tasks } = contender;
    const outcome = measured.get(name) ?? { error: "not measured" };
    const common = { name, side, tuning, settings: settingsOf(contender), tasks };
    return "error" in outcome
      ? { ...common, figures: {}, error: outcome.error }
      : { ...common, figures: summaries(outcome.figures) };
  });
  return {
    name: scenario.name,
    title: scenario.title,
    metric: scenario.metric,
    repetitions: Math.max(0, ...contenders.map(({ figures }) => figures[scenario.metric]?.samples.length ?? 0)),
    contenders,
    comparisons: scenario.comparisons.map((comparison) => {
      const ratio = ratioOf(comparison, contenders);
      return ratio ? { ...comparison, ratio } : comparison;
    }),
  };
}

function summaries(figures: readonly Figures[]): Partial<Record<Metric, Summary>> {
  const known = metricNames.map((metric) => [metric, figures.flatMap((of) => of[metric] ?? [])] as const);
  return Object.fromEntries(
    known.filter(([, samples]) => samples.length > 0).map(([metric, samples]) => [metric, summarize(samples)]),
  );
}

function ratioOf({ of, to, metric }: Comparison, contenders: readonly ContenderResult[]): Summary | undefined {
  const samplesOf = (name: string) => contenders.find((one) => one.name === name)?.figures[metric]?.samples;
  const [above, below] = [samplesOf(of), samplesOf(to)];
  if (!above || !below) return undefined;
  return summarize(above.map((sample, i) => sample / below[i]!));
}
