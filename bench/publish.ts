import { mkdir, readFile, writeFile } from "node:fs/promises";
import { resultChart } from "./chart.ts";
import { UsageError } from "./command-line.ts";
import { withFigures } from "./figures.ts";
import type { Results } from "./results.ts";
import { allScenarios } from "./scenarios/all.ts";

const page = new URL("../docs/performance.md", import.meta.url);
const folder = new URL("published/", import.meta.url);

/**
 * Puts the figures of a run into the documentation, and keeps its results and chart.
 *
 * @throws UsageError when they are not those of a whole run of a commit, or one of its measurements failed.
 */
export async function publish(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  const results = JSON.parse(text) as Results;
  const missing = allScenarios(false).filter(({ name }) => !results.scenarios.some((one) => one.name === name));
  const failed = results.scenarios.flatMap(({ contenders }) => contenders.filter(({ error }) => error));
  if (failed.length > 0)
    throw new UsageError(`In ${file} the measurement of ${failed[0]!.name} failed: ${failed[0]!.error}`);
  if (results.quick || missing.length > 0) {
    const reason = results.quick ? "quick" : `without ${missing.map(({ name }) => name).join(", ")}`;
    throw new UsageError(`The run in ${file} was ${reason}: its figures are not to be published`);
  }
  if (/-dirty|PGQUEUE_DIST/.test(results.versions.pgqueue ?? "")) {
    throw new UsageError(`In ${file} something else was measured than a commit: pgqueue ${results.versions.pgqueue}`);
  }
  await mkdir(folder, { recursive: true });
  await writeFile(page, withFigures(await readFile(page, "utf8"), results));
  await writeFile(new URL("results.json", folder), text);
  await writeFile(new URL("chart.svg", folder), `${resultChart(results)}\n`);
}
