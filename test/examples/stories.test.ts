import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { databaseUrl, dropDatabase } from "../postgres/database.ts";
import { type Ran, run } from "../processes/run.ts";
import { Project } from "../projects/project.ts";
import { fanOut } from "./stories/fan-out.ts";
import { hono } from "./stories/hono.ts";
import { tenants } from "./stories/tenants.ts";
import { tickerCursor } from "./stories/ticker-cursor.ts";
import { transactionalOutbox } from "./stories/transactional-outbox.ts";
import { webhook } from "./stories/webhook.ts";

const patience = 300_000;
const stories = [transactionalOutbox, webhook, tickerCursor, fanOut, hono, tenants];
const names = stories.map(({ name }) => name);
const examples = new URL("../../examples/", import.meta.url);
const root = fileURLToPath(new URL("../../", import.meta.url));
const script = "test/examples/tell.ts";

test("every example is tested", async () => {
  const folders = (await readdir(examples, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const others = ["demo", "unit-tests"];
  expect(folders.map(({ name }) => name).sort()).toEqual([...names, ...others].sort());
});

describe.each([
  ["PGlite", "0.45"],
  ["Postgres", "0.45"],
  ["Postgres", "1.0"],
] as const)("on %s and Drizzle %s", (engine, major) => {
  const server = engine === "Postgres" ? inject("postgresUrl") : "";
  let project: Project | undefined;
  let told: Ran;

  beforeAll(async () => {
    const options = { env: { DATABASE_URL: server }, timeout: patience };
    if (major === "0.45") {
      told = await run(process.execPath, ["--import", "tsx", script, ...names], { ...options, cwd: root });
      return;
    }
    project = await Project.create(major);
    await project.copy(examples, "examples");
    await project.write("examples/tenants/relations.ts", 'export * from "./.only-1.0/relations.ts";');
    await project.copy(new URL("tell.ts", import.meta.url), script);
    told = await project.node(script, names, options);
  }, patience);
  afterAll(async () => {
    await project?.remove();
    if (server) for (const name of names) await dropDatabase(server, databaseOf(name));
  });

  test("the examples end by themselves, without a complaint", () => {
    expect(told).toEqual({ code: 0, stdout: expect.any(String), stderr: "" });
  });

  for (const { name, tells, leaves } of stories) {
    test(`${name} tells its story`, async () => {
      const part = told.stdout.split(/^# /m).find((each) => each.startsWith(`${name}\n`)) ?? "";
      tells(part.trimEnd().split("\n").slice(1));
      if (!server) return;
      const sql = postgres(databaseUrl(server, databaseOf(name)), { max: 1 });
      onTestFinished(() => sql.end());
      await leaves(sql);
    });
  }

  if (major !== "1.0") return;
  // Those on 0.45 are checked with this repository.
  test("their types are right", { timeout: patience }, async () => {
    const { compilerOptions } = JSON.parse(await project!.read("tsconfig.json"));
    const include = names.map((name) => `examples/${name}`);
    await project!.write("tsconfig.json", JSON.stringify({ compilerOptions, include }));
    const { code, stdout } = await project!.bin("tsc", ["--pretty", "false"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  });
});

function databaseOf(name: string): string {
  return `pgqueue_example_${name.replaceAll("-", "_")}`;
}
