import type { Ran } from "../processes/run.ts";
import { type Major, Project } from "../projects/project.ts";

/** What a user writes into a config of drizzle-kit. */
export interface KitConfig {
  /** Files, folders or patterns, from the folder of the project. */
  schema: string | readonly string[];
  /** Folder of the migrations. */
  out: string;
  schemaFilter?: readonly string[];
}

export interface Generated extends Ran {
  /** Statements of the migrations that this run wrote. */
  readonly statements: string[];
}

/** drizzle-kit of one major in a user's project, run by its command line. */
export class Kit {
  private constructor(readonly project: Project) {}

  static async create(major: Major): Promise<Kit> {
    return new Kit(await Project.create(major));
  }

  configure(config: KitConfig): Promise<void> {
    return this.project.write(
      "drizzle.config.ts",
      `import { defineConfig } from "drizzle-kit";
      export default defineConfig({
        ...${JSON.stringify({ dialect: "postgresql", verbose: true, ...config })},
        dbCredentials: { url: process.env.DATABASE_URL! },
      } as Parameters<typeof defineConfig>[0]);\n`,
    );
  }

  /** The statements of all migrations in a folder, oldest first. */
  async migration(out: string): Promise<string[]> {
    const files = (await this.project.files(out)).filter((file) => file.endsWith(".sql"));
    const texts = await Promise.all(files.map((file) => this.project.read(`${out}/${file}`)));
    return texts.flatMap((text) => text.split("--> statement-breakpoint").map((statement) => statement.trim()));
  }

  async generate(config: KitConfig, flags: readonly string[] = []): Promise<Generated> {
    await this.configure(config);
    const before = await this.migration(config.out);
    const ran = await this.project.bin("drizzle-kit", ["generate", ...flags]);
    return { ...ran, statements: (await this.migration(config.out)).slice(before.length) };
  }

  async migrate(config: KitConfig, url: string): Promise<Ran> {
    await this.configure(config);
    return this.project.bin("drizzle-kit", ["migrate"], { env: { DATABASE_URL: url } });
  }

  async push(config: KitConfig, url: string): Promise<Ran> {
    await this.configure(config);
    return this.project.bin("drizzle-kit", ["push", "--force"], { env: { DATABASE_URL: url } });
  }
}
