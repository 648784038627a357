import { parseArgs } from "node:util";
import { gatedScenarios } from "./gate.ts";
import { UsageError } from "./usage-error.ts";

export interface Command {
  /** Names of scenarios; all where there are none. */
  readonly only: readonly string[];
  readonly quick: boolean;
  readonly gate: boolean;
  readonly repetitions: number;
  readonly json: string | undefined;
  readonly svg: string | undefined;
  /** Nothing is measured: the results in this file go into the documentation. */
  readonly publish: string | undefined;
}

export const leastRepetitions = 5;
const leastQuickRepetitions = 1;
const quickRepetitions = 2;

const options = {
  only: { type: "string", multiple: true },
  quick: { type: "boolean", default: false },
  gate: { type: "boolean", default: false },
  repetitions: { type: "string" },
  json: { type: "string" },
  svg: { type: "string" },
  publish: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

/**
 * What was asked for; undefined for help.
 *
 * @throws UsageError
 */
export function parseCommand(args: readonly string[], scenarios: readonly string[]): Command | undefined {
  const values = parse(args);
  if (values.help) return undefined;
  const { quick, gate, json, svg, publish } = values;
  for (const [option, file] of Object.entries({ json, svg, publish })) {
    if (file === "") throw new UsageError(`--${option} needs the name of a file`);
  }
  const besides = Object.entries(values).flatMap(([name, value]) =>
    name === "publish" || !value ? [] : [`--${name}`],
  );
  if (publish && besides.length > 0) {
    throw new UsageError(`--publish measures nothing: ${besides.join(" and ")} cannot be given with it`);
  }
  if (gate && quick)
    throw new UsageError("A quick run is no gate: it measures too little. Leave out --quick or --gate");
  const only = (values.only ?? []).flatMap((names) => names.split(",")).map((name) => name.trim());
  const unknown = only.filter((name) => !scenarios.includes(name));
  if (unknown.length > 0) {
    const named = unknown.map((name) => `"${name}"`).join(", ");
    throw new UsageError(`There is no scenario ${named}. There are: ${scenarios.join(", ")}`);
  }
  if (gate && only.length > 0 && !only.some((name) => gatedScenarios.includes(name))) {
    throw new UsageError(`The gate has no row for ${only.join(", ")}. It has some for: ${gatedScenarios.join(", ")}`);
  }
  return { only, quick, gate, json, svg, publish, repetitions: repetitionsOf(values.repetitions, quick) };
}

export function helpText(scenarios: readonly string[]): string {
  return `npm run bench -- [options]

  --only NAME,…      these scenarios alone: ${scenarios.join(", ")}
  --quick            fewer tasks and repetitions, in some minutes; its figures are not to be quoted
  --repetitions N    how often each scenario is measured: ${leastRepetitions} or more, default ${leastRepetitions}; with --quick
                     ${leastQuickRepetitions} or more, default ${quickRepetitions}
  --gate             exits with 1, naming the rows, where pgqueue misses what it is held to; names what was not measured;
                     not with --quick, which measures too little
  --json FILE        where the results go; default bench/results/<date>.json
  --svg FILE         where the chart goes; default bench/results/<date>.svg
  --publish FILE     measures nothing, and takes no other option: puts the results in the file, of a whole run, into
                     docs/performance.md, if src, bench and the lock files are still what was measured
  --help

PGQUEUE_DIST names the folder of another build of pgqueue than dist.`;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    const known = Object.keys(options).map((name) => `--${name}`);
    throw new UsageError(`${(error as Error).message}\nThere are: ${known.join(", ")}`);
  }
}

function repetitionsOf(given: string | undefined, quick: boolean): number {
  if (given === undefined) return quick ? quickRepetitions : leastRepetitions;
  const repetitions = Number(given);
  const least = quick ? leastQuickRepetitions : leastRepetitions;
  if (!Number.isInteger(repetitions) || repetitions < least) {
    throw new UsageError(`--repetitions is "${given}", not a number of ${least} or more`);
  }
  return repetitions;
}
