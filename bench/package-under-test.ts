import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The folder of the built package: that of this repository, or PGQUEUE_DIST. */
const folder = process.env.PGQUEUE_DIST
  ? pathToFileURL(`${process.env.PGQUEUE_DIST}/`)
  : new URL("../dist/", import.meta.url);
const entry = new URL("index.js", folder);

if (!existsSync(entry)) throw new Error(`pgqueue is not built: there is no ${fileURLToPath(entry)}`);

// Not by its name: this folder is a package of its own, in which that of its parent is not installed.
export const library: typeof import("pgqueue") = await import(entry.href);
