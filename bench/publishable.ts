import * as v from "valibot";
import { leastRepetitions } from "./command-line.ts";
import type { Results, ScenarioResult } from "./results.ts";
import type { Scenario } from "./scenarios/scenario.ts";
import { UsageError } from "./usage-error.ts";

const summary = v.looseObject({ median: v.number(), min: v.number(), max: v.number(), samples: v.array(v.number()) });
const named = { name: v.string(), title: v.string(), metric: v.string() };
const values = v.record(v.string(), v.union([v.string(), v.number()]));

const schema = v.looseObject({
  date: v.string(),
  quick: v.boolean(),
  machine: values,
  versions: v.looseObject({ pgqueue: v.string() }),
  server: values,
  scenarios: v.array(
    v.looseObject({
      ...named,
      repetitions: v.number(),
      contenders: v.array(
        v.looseObject({
          name: v.string(),
          side: v.string(),
          tuning: v.string(),
          settings: v.looseObject({}),
          tasks: v.number(),
          figures: v.record(v.string(), summary),
          error: v.optional(v.string()),
        }),
      ),
      comparisons: v.array(
        v.looseObject({ of: v.string(), to: v.string(), metric: v.string(), ratio: v.optional(summary) }),
      ),
    }),
  ),
});

/**
 * The results in the text of a file.
 *
 * @throws UsageError when it has none, or none that may be published: of a whole run in which pgqueue did not fail. Where a peer
 * did, its row says so.
 */
export function publishableResults(text: string, scenarios: readonly Scenario[]): Results {
  const results = parseResults(text);
  const reason = refusal(results, scenarios);
  if (reason) throw new UsageError(reason);
  return results;
}

function parseResults(text: string): Results {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new UsageError("it is not JSON");
  }
  if (!v.is(schema, content)) throw new UsageError("it does not hold the results of a run of this benchmark");
  return content as unknown as Results;
}

function refusal(results: Results, scenarios: readonly Scenario[]): string | undefined {
  if (results.quick) return "its run was quick";
  const missing = scenarios.filter(({ name }) => !results.scenarios.some((one) => one.name === name));
  if (missing.length > 0) return `its run was without ${missing.map(({ name }) => name).join(", ")}`;
  for (const result of results.scenarios) {
    const reason = refusalOf(
      result,
      scenarios.find(({ name }) => name === result.name),
    );
    if (reason) return `${result.name} ${reason}`;
  }
  return undefined;
}

function refusalOf({ metric, contenders }: ScenarioResult, scenario: Scenario | undefined): string | undefined {
  if (!scenario) return "is not a scenario";
  const expected = scenario.contenders.map(({ name }) => name).join("; ");
  const measured = contenders.map(({ name }) => name).join("; ");
  if (measured !== expected) return `was measured of ${measured}, not of ${expected}`;
  const ours = new Set(["pgqueue", "floor"]);
  const failed = contenders.find(({ side, error }) => ours.has(side) && error !== undefined);
  if (failed) return `failed for ${failed.name}: ${failed.error}`;
  const few = contenders.find(
    ({ figures, error }) => error === undefined && (figures[metric]?.samples.length ?? 0) < leastRepetitions,
  );
  if (few) {
    const times = few.figures[metric]?.samples.length ?? 0;
    return `was measured ${times} times for ${few.name}, not ${leastRepetitions}`;
  }
  return undefined;
}
