import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";

export function describeMachine(): Record<string, string | number> {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${type()} ${release()} ${process.arch}`,
  };
}

/** What is compared, and what it runs on. */
export function describeVersions(postgres: string): Record<string, string> {
  const packages = ["drizzle-orm", "postgres", "graphile-worker", "pg-boss", "pg"];
  return {
    node: process.version,
    postgres,
    pgqueue: `${versionIn("..")}${commit()}`,
    ...Object.fromEntries(packages.map((name) => [name, installedVersion(name)])),
  };
}

function installedVersion(name: string): string {
  for (const folder of ["node_modules", "../node_modules"]) {
    try {
      return versionIn(`${folder}/${name}`);
    } catch {}
  }
  return "unknown";
}

function versionIn(folder: string): string {
  const file = new URL(`${folder}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Of what was measured: marked as dirty where it has changes that are not committed. */
function commit(): string {
  if (process.env.PGQUEUE_DIST) return " (PGQUEUE_DIST)";
  const options = {
    cwd: new URL(".", import.meta.url),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  } as const;
  try {
    return ` (${execFileSync("git", ["describe", "--always", "--dirty", "--exclude=*"], options).trim()})`;
  } catch {
    return "";
  }
}
