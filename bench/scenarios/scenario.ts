import type { Databases } from "../databases.ts";
import type { Figures, Metric } from "../metrics.ts";
import type { SideName, Tuning } from "../sides/side.ts";

/** One who takes part in a scenario. */
export interface Contender {
  /** In tables: the side's name, with what distinguishes it where a side takes part more than once. */
  readonly name: string;
  readonly side: SideName;
  readonly tuning: Tuning;
  /** How many tasks are measured. */
  readonly tasks: number;
}

/** A ratio that is of interest: the first to the second. */
export interface Comparison {
  readonly of: string;
  readonly to: string;
  readonly metric: Metric;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** What the chart shows. */
  readonly metric: Metric;
  readonly contenders: readonly Contender[];
  readonly comparisons: readonly Comparison[];
  measure(databases: Databases, contender: Contender): Promise<Figures>;
}

/** The sides under their own names. */
export function contenders(sides: readonly SideName[], tuning: Tuning, tasks: number): Contender[] {
  return sides.map((side) => ({ name: side, side, tuning, tasks }));
}

/** The first, compared with each of the others. */
export function firstToOthers([first, ...others]: readonly Contender[], metric: Metric): Comparison[] {
  return others.map(({ name }) => ({ of: first!.name, to: name, metric }));
}
