import { stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** The program that the `bun` package carries, whether or not its install script has moved it. */
export async function bun(): Promise<string> {
  const manifest = require.resolve("bun/package.json");
  const { optionalDependencies } = require(manifest) as { optionalDependencies: Record<string, string> };
  const carriers = Object.keys(optionalDependencies).map((name) => join("..", ...name.split("/"), "bin", "bun"));
  for (const path of ["bin/bun.exe", ...carriers]) {
    const program = join(dirname(manifest), path);
    if (await isReal(program)) return program;
  }
  throw new Error("No program of Bun is installed for this platform");
}

/** The install script replaces a note of a few bytes by the program. */
async function isReal(path: string): Promise<boolean> {
  return stat(path).then(
    ({ size }) => size > 1_000_000,
    () => false,
  );
}
