import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { blocksOf, commandsOf, importsOf, installedBy } from "./blocks.ts";
import { Project } from "./project.ts";

const patience = 60_000;
const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
const blocks = blocksOf(readme);
const commands = commandsOf(blocks);
const programs = blocks.filter(({ language }) => language === "ts");
const installed = commands.flatMap(installedBy);

/** The command as the README has it; a reader could not run another. */
function command(text: string): string {
  expect(commands).toContain(text);
  return text;
}

describe("the README's blocks", () => {
  test("are TypeScript with a file name each, or commands", () => {
    expect(programs.length).toBeGreaterThan(10);
    expect(blocks.filter(({ language }) => language !== "ts" && language !== "sh")).toEqual([]);
    const names = programs.map(({ name }) => name);
    expect(names).not.toContain(undefined);
    expect(new Set(names).size).toBe(names.length);
  });

  test("import only what the README installs", () => {
    const imported = new Set(programs.flatMap(({ text }) => importsOf(text)));
    expect(installed).toEqual(expect.arrayContaining([...imported]));
  });

  test("name commands of this repository that exist", async () => {
    const { scripts } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    const named = [...readme.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name);
    expect(named).toContain("demo");
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
  });

  test("and links lead somewhere", async () => {
    const anchors = [...readme.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
      title.toLowerCase().replaceAll(" ", "-"),
    );
    for (const [, target = ""] of readme.matchAll(/\]\(([^)]+)\)/g)) {
      if (target.startsWith("https://")) continue;
      if (target.startsWith("#")) expect(anchors).toContain(target.slice(1));
      else
        expect({ target, exists: existsSync(new URL(`../../${target}`, import.meta.url)) }).toEqual({
          target,
          exists: true,
        });
    }
  });
});

describe("a project made from the README", { timeout: patience }, () => {
  let project: Project;
  let database: TestDatabase;
  let env: Record<string, string>;

  beforeAll(async () => {
    project = await Project.create(installed.filter((name) => name !== "pgqueue"));
    for (const { name, text } of programs) await project.write(name!, text);
    database = await createDatabase();
    env = { DATABASE_URL: database.url };
  });
  afterAll(async () => {
    await database?.end();
    await project?.remove();
  });

  const succeed = async (text: string, more: Record<string, string> = {}): Promise<string> => {
    const { code, output } = await project.run(text, { ...env, ...more });
    expect({ code, output }).toEqual({ code: 0, output: expect.any(String) });
    return output;
  };

  test("compiles", async () => {
    const compiler = join(process.cwd(), "node_modules");
    const compilerOptions = {
      target: "es2024",
      module: "nodenext",
      strict: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      typeRoots: [join(compiler, "@types")],
      types: ["node"],
    };
    await project.write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    const files = await succeed(`${join(compiler, ".bin", "tsc")} -p . --listFiles`);
    for (const { name } of programs) expect(files).toContain(join(project.folder, name!));
  });

  test("gets the tables by drizzle-kit", async () => {
    await succeed(command("npx drizzle-kit generate"));
    const [migration] = (await readdir(join(project.folder, "drizzle"))).filter((name) => name.endsWith(".sql"));
    const sql = await readFile(join(project.folder, "drizzle", migration!), "utf8");
    expect(sql.match(/CREATE TABLE "\w+"/g)?.sort()).toEqual([
      'CREATE TABLE "orders"',
      'CREATE TABLE "pgqueue_queues"',
      'CREATE TABLE "pgqueue_tasks"',
    ]);
    expect(await succeed("npx drizzle-kit generate")).toContain("No schema changes");
    await succeed(command("npx drizzle-kit migrate"));
    expect(await database.client`select * from pgqueue_tasks`).toEqual([]);
  });

  test("enqueues in a transaction, and its worker runs the job", async () => {
    await succeed(command("npx tsx checkout.ts"));
    const queued = await database.client`select queue, status, payload from pgqueue_tasks`;
    expect(queued).toEqual([
      { queue: "send-receipt", status: "pending", payload: { orderId: 1, to: "ada@example.com" } },
    ]);

    command("npx tsx worker.ts");
    const worker = spawn(process.execPath, ["--import", "tsx", "worker.ts"], {
      cwd: project.folder,
      env: project.environment(env),
    });
    let output = "";
    worker.stdout.on("data", (text) => {
      output += text;
    });
    worker.stderr.on("data", (text) => {
      output += text;
    });
    const [, printed = ""] = /The worker prints `(.+)`/.exec(readme)!;
    try {
      await vi.waitFor(() => expect(output).toContain(printed), { timeout: patience });
      await vi.waitFor(async () => {
        expect(await database.client`select status, attempt from pgqueue_tasks`).toEqual([
          { status: "completed", attempt: 1 },
        ]);
      });
      await succeed("npx tsx checkout.ts");
      await vi.waitFor(() => expect(output).toContain("Thank you for order 2."), { timeout: patience });
      worker.kill("SIGTERM");
      expect(await once(worker, "exit")).toEqual([0, null]);
      expect(output.trim().split("\n")).toHaveLength(2);
    } finally {
      worker.kill("SIGKILL");
    }
  });

  test("passes its unit test", async () => {
    expect(await succeed(command("npx vitest run"), { NO_COLOR: "1" })).toMatch(/Tests\s+1 passed \(1\)/);
  });

  test("deletes old jobs", async () => {
    await database.client`update pgqueue_tasks set finished_at = now() - interval '31 days' where id = 1`;
    await succeed("npx tsx retention.ts");
    expect(await database.client`select id from pgqueue_tasks`).toEqual([{ id: "2" }]);
  });

  test("does without drizzle-kit", async () => {
    const other = await createDatabase();
    for (let start = 1; start <= 2; start++) await succeed("npx tsx migrate.ts", { DATABASE_URL: other.url });
    expect(await other.client`select * from pgqueue_tasks`).toEqual([]);
    await other.end();
  });
});
