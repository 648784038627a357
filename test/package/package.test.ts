import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Consumer, type Packed, pack, temporaryFolder } from "./consumer.ts";

const patience = 60_000;
const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
const version = (name: string) => `${name}@${manifest.devDependencies[name] ?? manifest.dependencies[name]}`;

describe("the package", { timeout: patience }, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let packed: Packed;
  let shop: Consumer;

  beforeAll(async () => {
    folder = await temporaryFolder();
    packed = await pack(folder.path);
    const others = [
      "drizzle-orm",
      "drizzle-kit",
      "postgres",
      "valibot",
      "@electric-sql/pglite",
      "typescript",
      "@types/node",
    ];
    shop = await Consumer.create(folder.path, [packed.file, ...others.map(version)]);
  }, 180_000);
  afterAll(() => folder.remove());

  test("holds what its `files` say, and nothing else", () => {
    const allowed =
      /^(dist\/.+\.(js|d\.ts)|drizzle\/.+\.(sql|json)|docs\/.+\.md|CHANGELOG\.md|README\.md|LICENSE|package\.json)$/;
    expect(packed.files.filter((path) => !allowed.test(path))).toEqual([]);
    expect(packed.files).toEqual(
      expect.arrayContaining([
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "package.json",
        "dist/index.js",
        "dist/index.d.ts",
        "dist/schema/index.js",
        "dist/testing/index.js",
        "drizzle/0000_init.sql",
        "drizzle/meta/_journal.json",
      ]),
    );
  });

  test("names in its declarations and code only files that it holds", async () => {
    const held = new Set(packed.files);
    for (const path of packed.files.filter((path) => path.startsWith("dist/"))) {
      const text = await readFile(join(shop.folder, "node_modules/pgqueue", path), "utf8");
      const code = text.replaceAll(/\/\*.*?\*\//gs, "");
      for (const [, target = ""] of code.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)) {
        // Declarations name the file that they come from, which the compiler takes for its declaration.
        expect(held).toContain(join(path, "..", path.endsWith(".d.ts") ? target.replace(/\.ts$/, ".d.ts") : target));
      }
    }
  });

  test("is one copy beside the user's own drizzle-orm and valibot", async () => {
    expect(await shop.files("node_modules/pgqueue")).not.toContain("node_modules");
  });

  test("imports in plain Node", async () => {
    const { code, stdout, stderr } = await shop.node(
      "import.js",
      `import * as pgqueue from "pgqueue";
      import * as schema from "pgqueue/schema";
      import * as testing from "pgqueue/testing";
      console.log(JSON.stringify([pgqueue, schema, testing].map((module) => Object.keys(module))));`,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [main, schema, testing] = JSON.parse(stdout);
    expect(main).toEqual(
      expect.arrayContaining(["createPgqueue", "createWorker", "defineJob", "defineTicker", "migrate"]),
    );
    expect(schema).toEqual(["pgqueueTables", "queues", "tasks"]);
    expect(testing).toEqual([
      "assertPlans",
      "at",
      "createTestDatabase",
      "drain",
      "enqueued",
      "expectEnqueued",
      "perform",
      "refuteEnqueued",
      "rollBack",
    ]);
  });

  test("imports without the optional peers and without a database driver", async () => {
    const { code, stdout } = await shop.node(
      "lean.js",
      `import { register } from "node:module";
      const hook = \`export function resolve(specifier, context, next) {
        if (/^(postgres$|drizzle-kit|@electric-sql)/.test(specifier)) throw new Error("loads " + specifier);
        return next(specifier, context);
      }\`;
      register("data:text/javascript," + encodeURIComponent(hook));
      await import("pgqueue");
      await import("pgqueue/schema");
      const { createTestDatabase } = await import("pgqueue/testing");
      const { tasks } = await import("pgqueue/schema");
      console.log(await createTestDatabase({ schema: { tasks } }).catch((error) => error.message + " " + error.errors[0].message));`,
    );
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/could not load drizzle-kit.* loads drizzle-kit/),
    });
  });

  test("compiles in a strict program", async () => {
    await shop.write("program.ts", program);
    await shop.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["program.ts"] }));
    const { code, stdout } = await shop.bin("tsc", "-p", ".");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  });

  test("has declarations that are right by themselves", async () => {
    await shop.write("program.ts", program);
    await shop.write(
      "tsconfig.json",
      JSON.stringify({ compilerOptions: { ...compilerOptions, skipLibCheck: false }, files: ["program.ts"] }),
    );
    const { stdout } = await shop.bin("tsc", "-p", ".", "--listFiles");
    const lines = stdout.split("\n");
    expect(lines).toContainEqual(expect.stringMatching(/node_modules\/pgqueue\/dist\/queries\/pgqueue\.d\.ts$/));
    // Those of drizzle-orm 0.45 and PGlite are not: they name what is not installed, and contradict each other.
    const faults = lines.filter((line) => /^(node_modules\/pgqueue\/|program\.ts).*error TS/.test(line));
    expect(faults).toEqual([]);
  });

  test("makes the compiler refuse a wrong payload in that program", async () => {
    await shop.write("program.ts", program.replace("{ orderId: 1 }", '{ orderId: "1" }'));
    await shop.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["program.ts"] }));
    const { code, stdout } = await shop.bin("tsc", "-p", ".");
    expect(code).not.toBe(0);
    expect(stdout).toMatch(/program\.ts\(\d+,\d+\): error TS2322: Type 'string' is not assignable to type 'number'/);
  });

  test.each([
    [
      "two tables by name",
      'import { pgqueueTables } from "pgqueue";\nexport const { tasks, queues } = pgqueueTables();\n',
    ],
    ["all of pgqueue/schema", 'export * from "pgqueue/schema";\n'],
  ])("lets drizzle-kit find %s, and nothing to do the second time", async (name, text) => {
    const out = name.split(" ")[0]!;
    await shop.write(`${out}/schema.ts`, text);
    const generate = () =>
      shop.bin(
        "drizzle-kit",
        "generate",
        "--dialect=postgresql",
        `--schema=./${out}/schema.ts`,
        `--out=./${out}/drizzle`,
      );
    const first = await generate();
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: "" });

    const [file, ...more] = (await shop.files(`${out}/drizzle`)).filter((file) => file.endsWith(".sql"));
    expect(more).toEqual([]);
    const migration = await readFile(join(shop.folder, out, "drizzle", file!), "utf8");
    expect(migration).toBe(await readFile(join(shop.folder, "node_modules/pgqueue/drizzle/0000_init.sql"), "utf8"));

    expect((await generate()).stdout).toContain("No schema changes, nothing to migrate");
    expect((await shop.files(`${out}/drizzle`)).filter((file) => file.endsWith(".sql"))).toEqual([file]);
  });

  test("migrates a database and runs a job in it", async () => {
    const { code, stdout, stderr } = await shop.node("migrate.js", migrating);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ tables: 3, runs: 1, seen: [7], status: "completed" });
  });

  test("makes test databases", async () => {
    const { code, stdout, stderr } = await shop.node("testing.js", testing);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual([]);
  });
});

const compilerOptions = {
  target: "es2022",
  module: "nodenext",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  noEmit: true,
  types: ["node"],
};

const program = `
import { eq } from "drizzle-orm";
import { text } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import { createPgqueue, createWorker, defineJob, done, migrate, pgqueueTables, type Task, type WorkerEvent } from "pgqueue";
import { queues, tasks } from "pgqueue/schema";
import { createTestDatabase } from "pgqueue/testing";
import postgres from "postgres";
import * as v from "valibot";

const db = drizzle({ client: postgres("postgres://localhost/none"), schema: { tasks, queues } });
const own = pgqueueTables({ prefix: "own_", columns: { tenant: text("tenant").notNull() } });
const pgqueue = createPgqueue({ tasks: own.tasks, queues: own.queues });
const job = defineJob({ queue: "a", payload: v.object({ orderId: v.number() }) });

export async function main(): Promise<Task<{ tenant: string }>[]> {
  await migrate(db);
  await db.transaction((tx) => pgqueue.enqueue(tx, job, { orderId: 1 }, { columns: { tenant: "t" } }));
  const worker = createWorker({ db, pgqueue, onEvent: (event: WorkerEvent) => console.log(event.type) });
  worker.register(job, async ({ payload, columns }) => done(payload.orderId + columns.tenant.length));
  await worker.drain();
  const rows: { id: number; payload: unknown }[] = await db.select().from(tasks).where(eq(tasks.status, "failed"));
  const { close } = await createTestDatabase({ schema: { tasks, queues } });
  await close();
  return pgqueue.listTasks(db, { where: eq(own.tasks.id, rows.length) });
}
`;

const migrating = `
import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import { createPgqueue, createWorker, defineJob, migrate } from "pgqueue";
import { queues, tasks } from "pgqueue/schema";
import * as v from "valibot";

const client = await PGlite.create();
const db = drizzle({ client });
await migrate(db);
await migrate(db);
const { rows } = await client.query("select 1 from pg_tables where tablename like 'pgqueue_%'");

const pgqueue = createPgqueue({ tasks, queues });
const job = defineJob({ queue: "a", payload: v.object({ n: v.number() }) });
const { id } = await pgqueue.enqueue(db, job, { n: 7 });
const seen = [];
const worker = createWorker({ db, pgqueue }).register(job, ({ payload }) => void seen.push(payload.n));
const runs = await worker.drain();
const [task] = await pgqueue.getTask(db, id);
console.log(JSON.stringify({ tables: rows.length, runs, seen, status: task.status }));
await client.close();
`;

const testing = `
import { createTestDatabase } from "pgqueue/testing";
import * as schema from "pgqueue/schema";

const { db, close } = await createTestDatabase({ schema });
console.log(JSON.stringify(await db.select().from(schema.tasks)));
await close();
`;
