import { bench } from "./modules.ts";

const { allScenarios } = await bench("scenarios/all.ts");
const { scenarioResult } = await bench("results.ts");

/** Results of a whole run, as they are read from its file. */
export function wholeRun(repetitions = 5, pgqueue = "0.1.0 (abcdef0)"): any {
  const results = allScenarios(false).map((scenario: any) => {
    const figures = Array.from({ length: repetitions }, () => ({ [scenario.metric]: 1 }));
    const measured = scenario.contenders.map(({ name }: { name: string }) => [name, { figures }]);
    return scenarioResult(scenario, new Map(measured), () => ({}));
  });
  const run = {
    date: "2026-01-01T00:00:00.000Z",
    quick: false,
    machine: { cpu: "one", cores: 2 },
    versions: { pgqueue },
    server: {},
    scenarios: results,
  };
  return JSON.parse(JSON.stringify(run));
}
