import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** What changes figures: the package, the benchmark, and the packages that both use. */
const measured = ["src", "bench", ":(exclude)bench/published", "package-lock.json", "bench/package-lock.json"];

/**
 * Why figures of this version of pgqueue, as `describeVersions` names it, do not hold for HEAD of a repository; undefined
 * where they do.
 */
export function refusalOfVersion(version: string, repository: URL): string | undefined {
  if (/-dirty|PGQUEUE_DIST/.test(version)) return `something else was measured than a commit: pgqueue ${version}`;
  const commit = / \(([0-9a-f]{4,40})\)$/.exec(version)?.[1];
  if (!commit) return `it does not say which commit was measured: pgqueue ${version}`;
  if (git(repository, "rev-parse", "--verify", "--quiet", `${commit}^{commit}`) === undefined) {
    return `commit ${commit}, which was measured, is not in this repository`;
  }
  const changed = git(repository, "diff", "--name-only", commit, "HEAD", "--", ...measured);
  if (changed === undefined) return `git does not tell what has changed since commit ${commit}, which was measured`;
  if (changed === "") return undefined;
  return `since commit ${commit}, which was measured, these files have changed: ${changed.split("\n").join(", ")}`;
}

/** What a command prints; undefined where it fails. */
function git(repository: URL, ...args: string[]): string | undefined {
  try {
    const output = execFileSync("git", args, {
      cwd: fileURLToPath(repository),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return output.trim();
  } catch {
    return undefined;
  }
}
