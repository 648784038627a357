import { readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Major, majors, Project } from "../projects/project.ts";

// The type tests against what a user gets: the package's declarations, on either major of Drizzle. What concerns one major
// alone is in `only-0.45` and `.only-1.0`; the dot keeps the latter from the compiler where this repository, on 0.45, is
// checked as a whole.

const here = new URL("./", import.meta.url);
const patience = 180_000;
const require = createRequire(import.meta.url);
const compilers = {
  today: dirname(require.resolve("typescript/package.json")),
  // An older one, 5.6, is installed for the check of the package.
  older: dirname(
    requireOf(requireOf(require, "@arethetypeswrong/cli/package.json"), "@arethetypeswrong/core").resolve(
      "typescript/package.json",
    ),
  ),
};

function requireOf(from: NodeJS.Require, name: string): NodeJS.Require {
  return createRequire(from.resolve(name));
}

async function typeTests(major: Major): Promise<string[]> {
  const files = (await readdir(here, { recursive: true })).filter((file) => /(?<!\.test)\.ts$/.test(file));
  return files.filter((file) => dirname(file) === "." || dirname(file).endsWith(`only-${major}`));
}

/** What the compiler has to say, but of other packages: their declarations are their own. */
function faults(stdout: string): string[] {
  return stdout.split("\n").filter((line) => /^[^.\s].*: error TS|^error TS/.test(line));
}

describe.each(majors)("the types on Drizzle %s", (major) => {
  let project: Project;
  beforeAll(async () => {
    project = await Project.create(major);
    for (const file of await typeTests(major)) {
      // Under another name, or the test runner of this repository would take it for one of its own.
      await project.copy(new URL(file, here), file.replace(/^\./, "").replace(".test-d.ts", ".ts"));
    }
    await project.write("wrong.ts", wrong);
  }, patience);
  afterAll(() => project.remove());

  async function compile(compiler: keyof typeof compilers, options: object, ...flags: string[]) {
    const { compilerOptions } = JSON.parse(await project.read("tsconfig.json"));
    const config = { compilerOptions: { ...compilerOptions, ...options }, include: ["**/*.ts"] };
    await project.write("tsconfig.types.json", JSON.stringify(config));
    await project.write("compile.mjs", `import ${JSON.stringify(join(compilers[compiler], "bin/tsc"))};\n`);
    return project.node("compile.mjs", ["-p", "tsconfig.types.json", "--pretty", "false", ...flags]);
  }
  const wrongLine = expect.stringMatching(/^wrong\.ts\(8,\d+\): error TS2322: Type 'string' is not assignable/);

  test("are right, and so are the declarations by themselves", { timeout: patience }, async () => {
    const { stdout } = await compile("today", { skipLibCheck: false }, "--listFiles");
    expect(faults(stdout)).toEqual([wrongLine]);

    const files = stdout.split("\n").filter((line) => line.endsWith(".ts"));
    expect(files).toContain(join(project.folder, "node_modules/pgqueue/dist/queries/pgqueue.d.ts"));
    expect(files).toContain(join(project.folder, `only-${major}/relations.ts`));
    const copies = new Set(files.flatMap((file) => /^.*node_modules\/drizzle-orm\//.exec(file) ?? []));
    expect(copies.size).toBe(1);
  });

  test("are right for a bundler and an older compiler, which can name what a user exports", {
    timeout: patience,
  }, async () => {
    const options = { module: "preserve", moduleResolution: "bundler", exactOptionalPropertyTypes: false };
    const declarations = { noEmit: false, emitDeclarationOnly: true, declaration: true, outDir: "declared" };
    const { stdout } = await compile("older", { ...options, ...declarations });
    expect(faults(stdout)).toEqual([wrongLine]);
    const declared = await project.read("declared/shop.d.ts");
    expect(declared).toContain('tasks: import("pgqueue").TasksTable<"shop_tasks", {');
    expect(declared).toContain('receipt: import("pgqueue").JobSpec<{');
    expect(declared).not.toContain("pgqueue/dist");
  });
});

const wrong = `
import { createPgqueue, type Db, defineJob } from "pgqueue";
import * as schema from "pgqueue/schema";
import * as v from "valibot";

const pgqueue = createPgqueue(schema);
const job = defineJob({ queue: "a", payload: v.object({ orderId: v.number() }) });
export const enqueue = (db: Db) => pgqueue.enqueue(db, job, { orderId: "1" });
`;
