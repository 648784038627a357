import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export interface Ran {
  readonly code: number;
  readonly output: string;
}

/** A user's project in a folder of its own, in which `pgqueue` means the source of this one. */
export class Project {
  private constructor(readonly folder: string) {}

  /** @param packages what is installed, apart from pgqueue itself */
  static async create(packages: readonly string[]): Promise<Project> {
    const project = new Project(await mkdtemp(join(tmpdir(), "pgqueue-readme-")));
    await project.write("package.json", JSON.stringify({ name: "shop", private: true, type: "module" }));
    await project.#linkLibrary();
    await project.#link(join(root, "node_modules", ".bin"), "node_modules/.bin");
    for (const name of packages) await project.#link(join(root, "node_modules", name), `node_modules/${name}`);
    return project;
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  /** Runs a shell command to its end. */
  run(command: string, env: Record<string, string> = {}): Promise<Ran> {
    return new Promise((resolve) => {
      const options = { cwd: this.folder, env: this.environment(env), timeout: 60_000 };
      execFile("sh", ["-c", command], options, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}` });
      });
    });
  }

  environment(env: Record<string, string>): NodeJS.ProcessEnv {
    const { VITEST, VITEST_POOL_ID, VITEST_WORKER_ID, NODE_ENV, ...inherited } = process.env;
    // What the project lacks must fail, not be fetched.
    return {
      ...inherited,
      PATH: `${dirname(process.execPath)}${delimiter}${inherited.PATH}`,
      npm_config_offline: "true",
      ...env,
    };
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async #linkLibrary(): Promise<void> {
    const exports = {
      ".": "./src/index.ts",
      "./schema": "./src/schema/index.ts",
      "./testing": "./src/testing/index.ts",
    };
    await this.write("node_modules/pgqueue/package.json", JSON.stringify({ name: "pgqueue", type: "module", exports }));
    await this.#link(join(root, "src"), "node_modules/pgqueue/src");
  }

  async #link(target: string, name: string): Promise<void> {
    const path = join(this.folder, name);
    await mkdir(dirname(path), { recursive: true });
    await symlink(target, path);
  }
}
