import type { Databases } from "./databases.ts";
import { digitsOf, metrics } from "./metrics.ts";
import { orderOf } from "./order.ts";
import { type Measured, type ScenarioResult, scenarioResult } from "./results.ts";
import type { Contender, Scenario } from "./scenarios/scenario.ts";
import { loadSide } from "./sides/load.ts";

/**
 * Measures all contenders once in each repetition, so that whatever changes on the machine meanwhile meets all of them.
 */
export async function runScenario(
  databases: Databases,
  scenario: Scenario,
  repetitions: number,
  tell: (line: string) => void,
): Promise<ScenarioResult> {
  const measured = new Map<string, Measured>();
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (const contender of orderOf(scenario.contenders, repetition)) {
      const before = measured.get(contender.name) ?? { figures: [] };
      // It failed in an earlier repetition.
      if ("error" in before) continue;
      const label = `${scenario.name} ${repetition + 1}/${repetitions}  ${contender.name}`;
      try {
        const figures = await scenario.measure(databases, contender);
        measured.set(contender.name, { figures: [...before.figures, figures] });
        const value = figures[scenario.metric] ?? Number.NaN;
        tell(`${label}  ${value.toFixed(digitsOf(scenario.metric, value))} ${metrics[scenario.metric].title}`);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        measured.set(contender.name, { error: message });
        tell(`${label}  failed: ${message}`);
      }
    }
  }
  const sides = await Promise.all(scenario.contenders.map(({ side }) => loadSide(side)));
  const settingsOf = ({ side: name, tuning }: Contender) =>
    sides.find((side) => side.name === name)?.settings(tuning) ?? {};
  return scenarioResult(scenario, measured, settingsOf);
}
