import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { UsageError } from "./usage-error.ts";

/** The folder of the built package: that of this repository, or PGQUEUE_DIST. */
const folder = process.env.PGQUEUE_DIST
  ? pathToFileURL(`${process.env.PGQUEUE_DIST}/`)
  : new URL("../dist/", import.meta.url);

// Not by its name: this folder is a package of its own, in which that of its parent is not installed.
export const library: typeof import("pgqueue") = await load(new URL("index.js", folder));

async function load(entry: URL): Promise<typeof import("pgqueue")> {
  const file = fileURLToPath(entry);
  if (!existsSync(entry)) throw new UsageError(`pgqueue is not built: there is no ${file}`);
  const loaded = await import(entry.href).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.split("\n")[0] : error;
    throw new UsageError(`${file} cannot be loaded: ${reason}`);
  });
  if (!("createPgqueue" in loaded)) throw new UsageError(`${file} is not that of pgqueue`);
  return loaded;
}
