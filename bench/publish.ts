import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { resultChart } from "./chart.ts";
import { withFigures } from "./figures.ts";
import { refusalOfVersion } from "./measured-commit.ts";
import { publishableResults } from "./publishable.ts";
import { allScenarios } from "./scenarios/all.ts";
import { UsageError } from "./usage-error.ts";

const thisRepository = new URL("../", import.meta.url);

/**
 * Puts the figures of a run into the documentation, and keeps its results and chart.
 *
 * @throws UsageError when the file has none that may be published, or they are of other code than the repository's HEAD.
 */
export async function publish(file: string, repository = thisRepository): Promise<void> {
  const page = new URL("docs/performance.md", repository);
  const folder = new URL("bench/published/", repository);
  try {
    const text = await read(file);
    const results = publishableResults(text, allScenarios(false));
    const reason = refusalOfVersion(results.versions.pgqueue!, repository);
    if (reason) throw new UsageError(reason);
    await mkdir(folder, { recursive: true });
    await write(page, withFigures(await readFile(page, "utf8"), results));
    await write(new URL("results.json", folder), text);
    await write(new URL("chart.svg", folder), `${resultChart(results)}\n`);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${file} cannot be published: ${error.message}`);
    throw error;
  }
}

async function read(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: Error) => {
    throw new UsageError(error.message);
  });
}

async function write(file: URL, content: string): Promise<void> {
  await writeFile(file, content);
  console.log(`Written: ${fileURLToPath(file)}`);
}
