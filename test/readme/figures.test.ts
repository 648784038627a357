import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const text = (path: string) => readFile(new URL(path, root), "utf8");

test("the page on performance has the figures of the run that is kept beside the benchmark, and no others", async () => {
  const page = await text("docs/performance.md");
  if (!existsSync(new URL("bench/published/results.json", root))) {
    expect(page).toMatch(/<!-- Figures: .*-->\s+<!-- End of the figures. -->/);
    return;
  }
  // Not by a name that TypeScript follows: the benchmark is a project of its own, for a newer Node.
  const { withFigures } = await import(new URL("bench/figures.ts", root).href);
  const results = JSON.parse(await text("bench/published/results.json"));
  expect(page).toBe(withFigures(page, results));
  expect(page).toContain(results.date.slice(0, 10));
});
