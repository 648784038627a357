import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { succeed } from "../processes/run.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const cache = join(root, "node_modules", ".cache", "pgqueue");

/**
 * The package as it is published, built from the source as it stands; returns its folder. Built once for each state of the
 * source, whichever process asks first.
 */
export async function builtPackage(): Promise<string> {
  const folder = join(cache, await stateOfSource());
  if (await exists(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const building = await mkdtemp(join(cache, "building-"));
  try {
    await build(building);
    await rename(building, folder);
  } catch (error) {
    await rm(building, { recursive: true, force: true });
    // Another process may have been faster.
    if (!(await exists(folder))) throw error;
  }
  return folder;
}

async function build(building: string): Promise<void> {
  const compile = [join(root, "node_modules", ".bin", "tsc"), "-p", "tsconfig.build.json"];
  await succeed(process.execPath, [...compile, "--outDir", join(building, "dist")], { cwd: root });
  for (const name of ["package.json", "drizzle"]) await cp(join(root, name), join(building, name), { recursive: true });
}

async function stateOfSource(): Promise<string> {
  const hash = createHash("sha256");
  const files = (await Promise.all(["src", "drizzle"].map(filesIn))).flat().sort();
  for (const path of [...files, "package.json", "tsconfig.json", "tsconfig.build.json"]) {
    hash.update(path).update(await readFile(join(root, path)));
  }
  return hash.digest("hex").slice(0, 16);
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

async function exists(folder: string): Promise<boolean> {
  return readdir(folder).then(
    () => true,
    () => false,
  );
}
