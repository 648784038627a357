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
export function describeVersions(server: string): Record<string, string> {
  return {
    Node: process.version,
    Postgres: server,
    pgqueue: `${versionIn("..")}${commit()}`,
    "graphile-worker": installedVersion("graphile-worker"),
    "pg-boss": installedVersion("pg-boss"),
    "drizzle-orm": installedVersion("drizzle-orm"),
    "postgres.js": installedVersion("postgres"),
    "node-postgres": installedVersion("pg"),
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
  try {
    const described = execFileSync("git", ["describe", "--always", "--dirty", "--exclude=*"], {
      cwd: new URL(".", import.meta.url),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return ` (${described.trim()})`;
  } catch {
    return "";
  }
}
