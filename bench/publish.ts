import { readFile, writeFile } from "node:fs/promises";
import { resultChart } from "./chart.ts";
import { UsageError } from "./command-line.ts";
import { withFigures } from "./figures.ts";
import type { Results } from "./results.ts";
import { allScenarios } from "./scenarios/all.ts";

const docs = new URL("../docs/", import.meta.url);

/**
 * Puts the figures of a run into the documentation, and its results and chart beside them.
 *
 * @throws UsageError when they are not those of a whole run.
 */
export async function publish(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  const results = JSON.parse(text) as Results;
  const missing = allScenarios(false).filter(({ name }) => !results.scenarios.some((one) => one.name === name));
  if (results.quick || missing.length > 0) {
    const reason = results.quick ? "quick" : `without ${missing.map(({ name }) => name).join(", ")}`;
    throw new UsageError(`The run in ${file} was ${reason}: its figures are not to be published`);
  }
  const page = new URL("performance.md", docs);
  await writeFile(page, withFigures(await readFile(page, "utf8"), results));
  await writeFile(new URL("performance.json", docs), text);
  await writeFile(new URL("performance.svg", docs), `${resultChart(results)}\n`);
}
