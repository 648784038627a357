import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { type Block, blocksOf, commandsOf, importsOf, installedBy } from "./blocks.ts";
import { brokenLinks } from "./links.ts";
import { Project } from "./project.ts";

const patience = 60_000;
const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
const blocks = blocksOf(readme);
const commands = commandsOf(blocks);
const programs = blocks.filter(({ language }) => language === "ts");
/** A chapter whose files go over those of the rest: it shows a change of the project. */
const isOverlay = ({ chapter }: Block) => chapter === "Your own columns";
const base = programs.filter((block) => !isOverlay(block));
const overlay = programs.filter(isOverlay);
const installed = commands.flatMap(installedBy);

/** The command as the README has it; a reader could not run another. */
function command(text: string): string {
  expect(commands).toContain(text);
  return text;
}

describe("the README's blocks", () => {
  test("are TypeScript with a file name each, or commands, or the compiler's settings", () => {
    expect(programs.length).toBeGreaterThan(10);
    expect(blocks.filter(({ language }) => language !== "ts" && language !== "sh")).toEqual([
      expect.objectContaining({ language: "jsonc", name: "tsconfig.json" }),
    ]);
    for (const part of [base, overlay]) {
      const names = part.map(({ name }) => name);
      expect(names).not.toContain(undefined);
      expect(new Set(names).size).toBe(names.length);
    }
    expect(overlay.map(({ name }) => name)).toEqual(["schema.ts", "tenants.ts"]);
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
    expect(await brokenLinks(new URL("../../README.md", import.meta.url))).toEqual([]);
  });
});

describe("a project made from the README", { timeout: patience }, () => {
  let project: Project;
  let database: TestDatabase;
  let env: Record<string, string>;

  beforeAll(async () => {
    project = await Project.create(installed.filter((name) => name !== "pgqueue"));
    for (const { name, text } of base) await project.write(name!, text);
    const settings = blocks.find(({ name }) => name === "tsconfig.json");
    await project.write("tsconfig.json", settings!.text);
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

  /** Runs a script of the reader's. */
  const script = async (text: string): Promise<string> => {
    await project.write("script.ts", text);
    return succeed("npx tsx script.ts");
  };

  test("compiles", async () => {
    expect(readme).toContain("`npx tsc` checks");
    await succeed("npx tsc");
    const files = await succeed("npx tsc --noUncheckedIndexedAccess --exactOptionalPropertyTypes --listFiles");
    for (const { name } of base) expect(files).toContain(join(project.folder, name!));
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

    const [, ...words] = command("node --import tsx worker.ts").split(" ");
    const worker = spawn(process.execPath, words, {
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
    const [, printed = ""] = /The worker prints `(.+?)`/.exec(readme)!;
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
    expect(await succeed(command("npx vitest run"), { NO_COLOR: "1" })).toMatch(/Tests\s+2 passed \(2\)/);
  });

  test("retains nothing of a job that completed, and one that failed", async () => {
    await script(`
      import { createWorker, fail } from "pgqueue";
      import { db } from "./db.ts";
      import { pgqueue } from "./queue.ts";
      import { resizeImage } from "./retention.ts";
      await pgqueue.enqueueMany(db, resizeImage, [{ payload: { path: "good" } }, { payload: { path: "bad" } }]);
      const worker = createWorker({ db, pgqueue, onEvent: () => {} });
      worker.register(resizeImage, ({ payload }) => (payload.path === "bad" ? fail("bad") : undefined));
      await worker.drain();
      await worker.stop();
      await db.$client.end();`);
    const rows =
      await database.client`select payload->>'path' as path, status from pgqueue_tasks where queue = 'resize-image'`;
    expect(rows).toEqual([{ path: "bad", status: "failed" }]);
  });

  test("delays the first run of a ticker, once", async () => {
    await script(`
      import { db } from "./db.ts";
      import { startSyncAt } from "./first-run.ts";
      await startSyncAt(new Date("2100-01-01T06:00:00Z"));
      await startSyncAt(new Date("2200-01-01T06:00:00Z"));
      await db.$client.end();`);
    const rows = await database.client`select status, run_at from pgqueue_tasks where queue = 'sync-prices'`;
    expect(rows.map((row) => ({ ...row, run_at: new Date(row.run_at) }))).toEqual([
      { status: "pending", run_at: new Date("2100-01-01T06:00:00Z") },
    ]);
  });

  test("repairs a failed payment at its next delivery", async () => {
    const [prefix, suffix] = [
      `import { db } from "./db.ts"; import { onWebhook } from "./webhook.ts";`,
      `await db.$client.end();`,
    ];
    await script(`${prefix} await onWebhook({ event: "evt_1", cents: 1 }); ${suffix}`);
    await database.client`update pgqueue_tasks set status = 'failed' where queue = 'record-payment'`;
    await script(`${prefix} await onWebhook({ event: "evt_1", cents: 2 }); ${suffix}`);
    expect(
      await database.client`select status, payload, hash from pgqueue_tasks where queue = 'record-payment'`,
    ).toEqual([{ status: "pending", payload: { event: "evt_1", cents: 2 }, hash: "evt_1" }]);
  });

  test("is told of a failed run, and of a task that no worker takes", async () => {
    const output = await script(`
      import { createWorker, defineJob } from "pgqueue";
      import * as v from "valibot";
      import { db } from "./db.ts";
      import { pgqueue } from "./queue.ts";
      const flaky = defineJob({ queue: "flaky", payload: v.object({}) });
      await pgqueue.enqueue(db, flaky, {});
      const [due] = (await pgqueue.stats(db)).filter(({ queue }) => queue === "flaky");
      console.log("due:", due.due);
      const worker = createWorker({ db, pgqueue });
      worker.register(flaky, () => { throw new Error("my bug"); });
      await worker.drain();
      await db.$client.end();`);
    expect(output).toContain("due: 1");
    const [, printed = ""] = /`(pgqueue: task .+?)`/.exec(readme)!;
    expect(output.replace(/task \d+/, "task 15")).toContain(printed);
  });

  test("does without drizzle-kit", async () => {
    const other = await createDatabase();
    for (let start = 1; start <= 2; start++) await succeed("npx tsx migrate.ts", { DATABASE_URL: other.url });
    expect(await other.client`select * from pgqueue_tasks`).toEqual([]);
    await other.end();
  });

  test("gets a column of its own once there are rows", async () => {
    for (const { name, text } of overlay) await project.write(name!, text);
    await project.write(
      "script.ts",
      `import { createWorker } from "pgqueue";
      import { db } from "./db.ts";
      import { registerHandlers } from "./handlers.ts";
      import { pgqueue } from "./queue.ts";
      import { enqueueFor, registerReports, tasksOf } from "./tenants.ts";
      const worker = createWorker({ db, pgqueue });
      registerReports(worker);
      registerHandlers(worker, { send: async () => {} });
      await enqueueFor("acme", 70, "ada@example.com");
      await worker.drain();
      console.log((await tasksOf("acme")).map((task) => task.queue).sort().join());
      await db.$client.end();`,
    );
    await succeed("npx tsc --noUncheckedIndexedAccess --exactOptionalPropertyTypes");
    await succeed("npx drizzle-kit generate");
    await succeed("npx drizzle-kit migrate");
    const [row] = await database.client`select count(*)::int, min(tenant), max(tenant) from pgqueue_tasks`;
    expect(row).toEqual({ count: expect.any(Number), min: "main", max: "main" });
    expect(row!.count).toBeGreaterThan(1);
    const output = await succeed("npx tsx script.ts");
    expect(output).toContain("page 1 for acme");
    expect(output).toContain("report,send-receipt");
  });
});
