import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Ran, type RunOptions, run } from "../processes/run.ts";
import { builtPackage } from "./build.ts";
import { bun } from "./bun.ts";

/** The majors of Drizzle that pgqueue runs on. */
export const majors = ["0.45", "1.0"] as const;
export type Major = (typeof majors)[number];

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Where projects are made, so that "drizzle-orm" and "drizzle-kit" are found in the major they are about, and everything
 * else where this project has it. Nothing is installed or linked.
 */
const homes: Record<Major, string> = {
  "0.45": join(root, "test", "projects", ".made"),
  "1.0": join(root, "test", "drizzle-1.0", ".made"),
};

const compilerOptions = {
  target: "es2023",
  module: "nodenext",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  noEmit: true,
  types: ["node"],
};

type Options = Pick<RunOptions, "env" | "timeout">;

/** A user's project on one major of Drizzle, with the built package of pgqueue installed. */
export class Project {
  private constructor(
    readonly folder: string,
    readonly major: Major,
  ) {}

  static async create(major: Major): Promise<Project> {
    const built = await builtPackage();
    await mkdir(homes[major], { recursive: true });
    const project = new Project(await mkdtemp(join(homes[major], "project-")), major);
    await project.write("package.json", JSON.stringify({ name: "shop", private: true, type: "module" }));
    // Without one, that of this repository would apply, in which "pgqueue" is the source.
    await project.write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    await cp(built, join(project.folder, "node_modules", "pgqueue"), { recursive: true });
    return project;
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  read(name: string): Promise<string> {
    return readFile(join(this.folder, name), "utf8");
  }

  /** Copies a file or folder of this project into that one. */
  copy(from: URL, name: string): Promise<void> {
    return cp(from, join(this.folder, name), { recursive: true });
  }

  /** Paths of the files in a folder, at any depth, sorted. None where there is no such folder. */
  async files(folder: string): Promise<string[]> {
    const entries = await readdir(join(this.folder, folder), { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries.filter((entry) => entry.isFile());
    return files.map((entry) => join(entry.parentPath, entry.name).slice(join(this.folder, folder).length + 1)).sort();
  }

  /** Runs TypeScript or JavaScript in Node. */
  node(name: string, args: readonly string[] = [], options: Options = {}): Promise<Ran> {
    return this.#run(process.execPath, ["--import", tsx, name, ...args], options);
  }

  /** Runs TypeScript or JavaScript in Bun. */
  async bun(name: string, args: readonly string[] = [], options: Options = {}): Promise<Ran> {
    return this.#run(await bun(), [name, ...args], options);
  }

  /** Runs a program that an installed package brings. */
  async bin(name: string, args: readonly string[] = [], options: Options = {}): Promise<Ran> {
    return this.#run(process.execPath, [await this.#program(name), ...args], options);
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }

  #run(program: string, args: readonly string[], options: Options): Promise<Ran> {
    return run(program, args, { ...options, cwd: this.folder });
  }

  /** As npm would find it: the nearest `node_modules/.bin`. */
  async #program(name: string): Promise<string> {
    for (let folder = this.folder; `${folder}/`.startsWith(root); folder = dirname(folder)) {
      const bins: string[] = await readdir(join(folder, "node_modules", ".bin")).catch(() => []);
      if (bins.includes(name)) return join(folder, "node_modules", ".bin", name);
    }
    throw new Error(`No installed package brings a program ${name}`);
  }
}

const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
