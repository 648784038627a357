import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bench } from "./modules.ts";
import { wholeRun } from "./whole-run.ts";

// It draws with a package that only the benchmark has installed.
vi.mock("../../bench/chart.ts", () => ({ resultChart: () => "<svg/>" }));

const { publish } = await bench("publish.ts");

const page = "docs/performance.md";
const emptyPage = "<!-- Figures: written by `npm run bench -- --publish`. -->\n\n<!-- End of the figures. -->\n";
let repository: string;

beforeEach(() => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  repository = mkdtempSync(join(tmpdir(), "pgqueue-publish-"));
  git("init", "--quiet");
  commit({ [page]: emptyPage, "src/a.ts": "", "bench/b.ts": "", "package-lock.json": "", "test/c.ts": "" });
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(repository, { recursive: true, force: true });
});

function git(...args: string[]): string {
  const identity = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...identity, ...args], { cwd: repository, encoding: "utf8" }).trim();
}

function commit(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(repository, path)), { recursive: true });
    writeFileSync(join(repository, path), text);
  }
  git("add", "--all");
  git("commit", "--quiet", "--message", "change");
}

const head = () => git("rev-parse", "--short", "HEAD");

async function publishRunOf(version: string): Promise<void> {
  const file = join(repository, "results.json");
  writeFileSync(file, JSON.stringify(wholeRun(5, version)));
  await publish(file, pathToFileURL(`${repository}/`));
}

const publishedPage = () => readFileSync(join(repository, page), "utf8");

test("results of HEAD are published", async () => {
  await publishRunOf(`0.1.0 (${head()})`);
  expect(publishedPage()).toContain("### process: ");
  expect(readFileSync(join(repository, "bench/published/chart.svg"), "utf8")).toBe("<svg/>\n");
});

test("results of an earlier commit are published while nothing that was measured has changed", async () => {
  const measured = head();
  commit({ "test/c.ts": "changed", "bench/published/results.json": "{}" });
  await publishRunOf(`0.1.0 (${measured})`);
  expect(publishedPage()).toContain("### process: ");
});

test("results of other code than that of HEAD are refused, with the commit and the files", async () => {
  const measured = head();
  commit({ "src/a.ts": "changed", "bench/b.ts": "changed", "package-lock.json": "changed", "test/c.ts": "changed" });
  commit({ "bench/package-lock.json": "changed" });
  await expect(publishRunOf(`0.1.0 (${measured})`)).rejects.toThrow(
    `results.json cannot be published: since commit ${measured}, which was measured, these files have changed: ` +
      "bench/b.ts, bench/package-lock.json, package-lock.json, src/a.ts",
  );
  expect(publishedPage()).toBe(emptyPage);
});

test("results that are not of a commit of the repository are refused", async () => {
  const refused = {
    "0.1.0 (0123456)": "commit 0123456, which was measured, is not in this repository",
    "0.1.0": "it does not say which commit was measured: pgqueue 0.1.0",
    "0.1.0 (HEAD)": "it does not say which commit was measured",
    [`0.1.0 (${head()}-dirty)`]: "something else was measured than a commit",
    "0.1.0 (PGQUEUE_DIST)": "something else was measured than a commit",
  };
  for (const [version, reason] of Object.entries(refused)) {
    await expect(publishRunOf(version)).rejects.toThrow(reason);
  }
  expect(publishedPage()).toBe(emptyPage);
});
