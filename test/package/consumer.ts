import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Ran, run, succeed } from "../processes/run.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const notCopied = new Set(["node_modules", "dist", ".git"]);

export interface Packed {
  /** The tarball. */
  readonly file: string;
  /** Paths in it. */
  readonly files: string[];
}

/**
 * Builds and packs the package as `npm publish` would, in a copy of the tree: a build in place would pull `dist` from under
 * whoever else uses it.
 */
export async function pack(folder: string): Promise<Packed> {
  const copy = join(folder, "tree");
  await cp(root, copy, { recursive: true, filter: (path) => !notCopied.has(basename(path)) });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  const { stdout } = await succeed("npm", ["pack", "--json", "--pack-destination", folder], { cwd: copy });
  // What the build prints comes before it.
  const report = JSON.parse(stdout.slice(stdout.search(/^[[{]\s*$/m)));
  const [{ filename, files }] = Object.values(report) as [{ filename: string; files: { path: string }[] }];
  return { file: join(folder, filename), files: files.map(({ path }) => path) };
}

/** A project of a user's, with nothing in it but what it installs. */
export class Consumer {
  private constructor(readonly folder: string) {}

  static async create(folder: string, packages: readonly string[]): Promise<Consumer> {
    const consumer = new Consumer(join(folder, "shop"));
    await consumer.write("package.json", JSON.stringify({ name: "shop", private: true, type: "module" }));
    const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
    await succeed("npm", ["install", ...flags, ...packages], { cwd: consumer.folder });
    return consumer;
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  /** Runs a program that an installed package brought. */
  bin(name: string, ...args: string[]): Promise<Ran> {
    return run(process.execPath, [join(this.folder, "node_modules", ".bin", name), ...args], { cwd: this.folder });
  }

  /** Runs plain JavaScript in plain Node. */
  async node(name: string, text: string): Promise<Ran> {
    await this.write(name, text);
    return run(process.execPath, [name], { cwd: this.folder });
  }

  files(folder: string): Promise<string[]> {
    return readdir(join(this.folder, folder));
  }
}

export async function temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "pgqueue-package-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
