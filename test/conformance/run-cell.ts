import { type RunOptions, run } from "../processes/run.ts";
import { bun } from "../projects/bun.ts";
import { type Major, Project } from "../projects/project.ts";
import type { Cell } from "./cell.ts";
import { type Report, readReports } from "./suite/report.ts";

const suite = new URL("./suite", import.meta.url);
const projects = new Map<Major, Promise<Project>>();

/** Runs the suite in a process of its own, against the built package. */
export async function runCell({ drizzle, driver, mode, server }: Cell, url: string): Promise<Report[]> {
  const project = await projectOn(drizzle);
  const program = driver === "bun-sql" ? await bun() : process.execPath;
  const env: Record<string, string> = driver === "pglite" && server === "oldest" ? { PGLITE_MODULE: "pglite-0.3" } : {};
  const options: RunOptions = { cwd: project.folder, env, timeout: 150_000 };
  const { code, stdout, stderr } = await run(program, ["built/main.js", driver, mode, url], options);
  const reports = readReports(stdout);
  if (code !== 0) throw new Error(`The cell ended early, after ${reports.length} cases:\n${stderr}`);
  return reports;
}

export async function removeProjects(): Promise<void> {
  for (const project of projects.values()) await (await project).remove();
  projects.clear();
}

function projectOn(major: Major): Promise<Project> {
  const made = projects.get(major) ?? makeProject(major);
  projects.set(major, made);
  return made;
}

/** Compiled once: translating drizzle-kit on its way in, as tsx does, takes longer than all cases together. */
async function makeProject(major: Major): Promise<Project> {
  const project = await Project.create(major);
  await project.copy(suite, "suite");
  await project.write("tsconfig.suite.json", JSON.stringify({ compilerOptions, include: ["suite"] }));
  const { code, stdout } = await project.bin("tsc", ["-p", "tsconfig.suite.json"]);
  if (code !== 0) throw new Error(`The suite was not compiled:\n${stdout}`);
  return project;
}

const compilerOptions = {
  target: "es2023",
  module: "nodenext",
  rootDir: "suite",
  outDir: "built",
  rewriteRelativeImportExtensions: true,
  noCheck: true,
  skipLibCheck: true,
  types: [],
};
