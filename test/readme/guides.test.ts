import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { drizzle as onPool } from "drizzle-orm/node-postgres";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ConflictError, createPgqueue, type Db, PayloadError, pgqueueTables } from "../../src/index.ts";
import { drain, enqueued, expectEnqueued } from "../../src/testing/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { majors, Project } from "../projects/project.ts";
import { blocksOf, commandsOf } from "./blocks.ts";
import { type Chapter, readGuide, writeChapter } from "./guide.ts";
import { brokenLinks } from "./links.ts";

const patience = 180_000;
const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
const pages = ["schema", "transactions", "testing", "drivers"] as const;
const guides = await Promise.all(pages.map(readGuide));
const chapters = guides.flatMap((guide) => guide.chapters);
const commands = guides.flatMap(({ blocks }) => commandsOf(blocks));
const settings = blocksOf(await read("README.md")).find(({ name }) => name === "tsconfig.json")!.text;

/** The command as a page has it; a reader could not run another. */
function command(part: string): string[] {
  const found = commands.find((text) => text.includes(part));
  expect(found, part).toBeDefined();
  return found!.split(" ").map((word) => word.replaceAll("'", ""));
}

describe("the guides", () => {
  test("have TypeScript with a file name each, once a chapter, and commands", () => {
    for (const { blocks, chapters } of guides) {
      expect(blocks.filter(({ language }) => language !== "ts" && language !== "sh")).toEqual([]);
      for (const { folder, programs } of chapters) {
        const names = programs.map(({ name }) => name);
        expect({ folder, names }).toEqual({ folder, names: [...new Set(names)] });
        expect(names).not.toContain(undefined);
      }
    }
    expect(new Set(chapters.map(({ folder }) => folder)).size).toBe(chapters.length);
  });

  test("have commands that the tests run", () => {
    expect(new Set(commands)).toEqual(
      new Set([
        "npx drizzle-kit generate",
        "npx drizzle-kit migrate",
        expect.stringMatching(/^npx drizzle-kit generate --hints='\[\{.+\}\]'$/),
        "npx vitest run",
        "node --import tsx --test receipts.node-test.ts",
      ]),
    );
  });

  test("list every statement, and mark the builders as README does", async () => {
    const page = await read("docs/statements.md");
    const readme = await read("README.md");
    const listed = [...page.matchAll(/^\| (▸ )?`(\w+)\(/gm)].map(([, mark = "", name]) => mark + name);
    const inReadme = [...readme.matchAll(/(▸ )?`(\w+)`/g)].map(([, mark = "", name]) => mark + name);
    const names = Object.keys(createPgqueue(pgqueueTables()));
    expect(listed.map((name) => name.replace("▸ ", "")).sort()).toEqual(names.sort());
    for (const name of listed) expect(inReadme).toContain(name);
  });

  test("have links that lead somewhere", async () => {
    for (const name of await readdir(new URL("../../docs/", import.meta.url))) {
      const page = new URL(`../../docs/${name}`, import.meta.url);
      expect({ name, broken: await brokenLinks(page) }).toEqual({ name, broken: [] });
    }
  });

  test("name the versions that are tested", async () => {
    const drivers = await read("docs/drivers.md");
    const { devDependencies, engines } = JSON.parse(await read("package.json"));
    const other = JSON.parse(await read("test/drizzle-1.0/package.json")).devDependencies;
    for (const name of ["drizzle-orm", "drizzle-kit"]) {
      expect(drivers).toMatch(new RegExp(`\\| ${name} .*\\| ${devDependencies[name]} and ${other[name]} +\\|`));
    }
    const oldest = devDependencies["pglite-0.3"].split("@").at(-1);
    expect(drivers).toMatch(
      new RegExp(`\\| PGlite .*\\| ${oldest} and ${devDependencies["@electric-sql/pglite"]} +\\|`),
    );
    expect(drivers).toMatch(new RegExp(`\\| TypeScript .* and ${/^\d+\.\d+/.exec(devDependencies.typescript)} +\\|`));
    expect(drivers).toMatch(new RegExp(`\\| Node +\\| ${/\d+/.exec(engines.node)} or later`));
    expect(drivers).toContain(`Version ${devDependencies.postgres} can end a process`);
  });
});

describe.each(majors)("the guides' blocks on drizzle %s", (major) => {
  let project: Project;
  const own = chapters.filter((chapter) => chapter.major === undefined || chapter.major === major);
  beforeAll(async () => {
    project = await Project.create(major);
    await project.write("tsconfig.json", settings);
    // Without one, that of this repository would apply.
    await project.write("vitest.config.mjs", "export default {};");
    for (const chapter of own) await writeChapter(project, chapter);
  });
  afterAll(() => project.remove());

  test("compile", { timeout: patience }, async () => {
    const flags = ["--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--listFiles"];
    const { code, stdout } = await project.bin("tsc", flags);
    expect({ code, faults: stdout.split("\n").filter((line) => line.includes(": error TS")) }).toEqual({
      code: 0,
      faults: [],
    });
    for (const { folder, files } of own) {
      for (const name of files.keys()) expect(stdout).toContain(join(project.folder, folder, name));
    }
  });

  test("pass, those that are tests", { timeout: patience }, async () => {
    // On 1.0 those that are about it alone: what the others show does not depend on it.
    const run = own.filter((chapter) => major === "0.45" || chapter.major === major);
    const files = run.flatMap(({ folder, programs }) =>
      programs.filter(({ name }) => name?.endsWith(".test.ts")).map(({ name }) => `${folder}/${name}`),
    );
    const database = await createDatabase();
    const env = { DATABASE_URL: database.url, NO_COLOR: "1" };
    const [, program, ...words] = command("vitest");
    // In one process, in which drizzle-kit is loaded once.
    const { code, stdout, stderr } = await project.bin(
      program!,
      [...words, "--no-isolate", "--no-file-parallelism", ...files],
      { env },
    );
    await database.end();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`Test Files +${files.length} passed \\(${files.length}\\)`));
  });

  if (major === "0.45") {
    test("pass, those of node:test", { timeout: patience }, async () => {
      const [, , , , name] = command("--test");
      const chapter = own.find(({ files }) => files.has(name!));
      const { code, stdout } = await project.node(join(chapter!.folder, name!));
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("# pass 1") });
    });
  } else {
    test("move the tables into another schema by the hints that are shown", { timeout: patience }, async () => {
      const schema = (text: string) =>
        `import { pgSchema } from "drizzle-orm/pg-core";\nimport { pgqueueTables } from "pgqueue/schema";\n${text}`;
      const generate = async () => {
        const { code, stdout } = await project.bin("drizzle-kit", command("--hints").slice(2));
        return { code, stdout };
      };
      await project.write(
        "drizzle.config.ts",
        `export default { dialect: "postgresql", schema: "./moved.ts", out: "./drizzle" };`,
      );
      await project.write("moved.ts", schema("export const { tasks, queues } = pgqueueTables();"));
      expect(await project.bin("drizzle-kit", ["generate"])).toMatchObject({ code: 0 });
      await project.write(
        "moved.ts",
        schema(
          'export const jobs = pgSchema("jobs");\nexport const { tasks, queues } = pgqueueTables({ schema: jobs });',
        ),
      );
      expect(await generate()).toMatchObject({ code: 0 });
      const [, last = ""] = (await project.files("drizzle")).filter((file) => file.endsWith(".sql"));
      expect((await project.read(join("drizzle", last))).split("--> statement-breakpoint\n")).toEqual([
        expect.stringContaining("CREATE SCHEMA"),
        expect.stringContaining('"pgqueue_queues" SET SCHEMA "jobs"'),
        expect.stringContaining('"pgqueue_tasks" SET SCHEMA "jobs"'),
      ]);
    });
  }
});

describe("the guides' blocks do what the text says:", { timeout: patience }, () => {
  let project: Project;
  let close: () => Promise<void> = async () => {};
  beforeAll(async () => {
    project = await Project.create("0.45");
  });
  afterEach(() => close());
  afterAll(() => project.remove());

  /** Modules of a chapter, on a database inside this process. */
  async function open(folder: string, { relations = false } = {}): Promise<(name: string) => Promise<any>> {
    const chapter = chapters.find((one: Chapter) => one.folder === folder);
    expect(chapter, folder).toBeDefined();
    const db = `import { drizzle } from "drizzle-orm/pglite";
      import { createTestDatabase } from "pgqueue/testing";
      import * as schema from "./schema.ts";
      ${relations ? `import * as relations from "./relations.ts";` : "const relations = {};"}
      const database = await createTestDatabase({ schema });
      export const db = drizzle({ client: database.db.$client, schema: { ...schema, ...relations } });
      export const close = database.close;`;
    await writeChapter(project, chapter!, folder, { "db.ts": db });
    const load = (name: string) => import(join(project.folder, folder, `${name}.ts`));
    close = (await load("db")).close;
    return load;
  }
  const payloads = (tasks: readonly { payload: unknown }[]) => tasks.map(({ payload }) => payload);

  test("columns of one's own", async () => {
    const load = await open("schema/your-own-columns");
    const [{ db }, { sendReceipt }, { pgqueue }, { orders }, tenants] = await Promise.all(
      ["db", "jobs", "queue", "schema", "tenants"].map(load),
    );
    await tenants.enqueueReceipts("acme");
    await db.insert(orders).values([1, 4].map((n) => ({ email: `${n}@example.com`, tenant: "blue" })));
    expect(await tenants.enqueueFromOrders()).toBe(0); // both hashes are held
    await db.insert(orders).values([3, 4].map((n) => ({ email: `${n}@example.com`, tenant: "blue" })));
    expect(await tenants.enqueueFromOrders()).toBe(1);
    await drain(tenants.worker);
    expect(tenants.seen.sort()).toEqual([
      "4@example.com in eu",
      "ada@example.com in eu",
      "bob@example.com in eu",
      "eve@example.com in us",
      "page 1 for acme",
    ]);
    expect(await tenants.tasksOf("blue")).toMatchObject([{ columns: { tenant: "blue", region: "eu" } }]);
    expect(await enqueued(db, sendReceipt, { pgqueue })).toHaveLength(4);
    expect(await tenants.claimOf("acme")).toEqual([]);
  });

  test("a foreign key, indexes and a policy", async () => {
    const load = await open("schema/keys-indexes-policies");
    const [{ db }, { sendReceipt }, { orders }, { pgqueue }] = await Promise.all(
      ["db", "jobs", "schema", "queue"].map(load),
    );
    const [order] = await db.insert(orders).values({ email: "ada@example.com" }).returning();
    const enqueue = (orderId: number) =>
      pgqueue.enqueue(
        db,
        sendReceipt,
        { orderId, to: "ada@example.com" },
        { hash: null, columns: { orderId: order.id } },
      );
    await enqueue(1);
    await expect(enqueue(2)).rejects.toMatchObject({ cause: { code: "23505" } });
    await db.delete(orders);
    expect(await enqueued(db, sendReceipt, { pgqueue })).toEqual([]);
  });

  test("relations", async () => {
    const load = await open("schema/relations-on-drizzle-0.45", { relations: true });
    const [{ db }, { sendReceipt }, { orders }, { pgqueue }, { ordersWithTasks }] = await Promise.all(
      ["db", "jobs", "schema", "queue", "orders"].map(load),
    );
    const payload = { orderId: 1, to: "ada@example.com" };
    await db.insert(orders).values({ email: payload.to });
    await pgqueue.enqueue(db, sendReceipt, payload, { columns: { orderId: 1 } });
    expect(await ordersWithTasks()).toEqual([
      { id: 1, email: payload.to, tasks: [{ id: 1, status: "pending", payload }] },
    ]);
  });

  test("two sets", async () => {
    const load = await open("schema/two-sets-side-by-side");
    const [{ db }, { sendReceipt }, { mail, pgqueue }, { worker, mailWorker }] = await Promise.all(
      ["db", "jobs", "queue", "workers"].map(load),
    );
    await mail.enqueue(db, sendReceipt, { orderId: 1, to: "ada@example.com" });
    expect(await enqueued(db, sendReceipt, { pgqueue })).toEqual([]);
    expect(await enqueued(db, sendReceipt, { pgqueue: mail })).toHaveLength(1);
    expect(await drain(worker)).toEqual([]);
    expect(await drain(mailWorker)).toHaveLength(1);
  });

  test("an old set that is drained", async () => {
    const load = await open("schema/another-prefix-or-schema-later");
    const [{ db }, { sendReceipt }, { oldPgqueue }, { isDrained }] = await Promise.all(
      ["db", "jobs", "queue", "old"].map(load),
    );
    expect(await isDrained()).toBe(true);
    const { id } = await oldPgqueue.enqueue(db, sendReceipt, { orderId: 1, to: "ada@example.com" });
    expect(await isDrained()).toBe(false);
    await oldPgqueue.disable(db, id);
    expect(await isDrained()).toBe(true);
  });

  test("an enqueue with one's data", async () => {
    const load = await open("transactions/enqueue-with-your-data");
    const [{ db }, { sendReceipt }, { pgqueue }, { orders }, { importOrder, placeOrder }] = await Promise.all(
      ["db", "jobs", "queue", "schema", "place-order"].map(load),
    );
    expect([await placeOrder("ada@example.com"), await importOrder("nobody")]).toEqual([1, 2]);
    await expect(placeOrder("nobody")).rejects.toThrow(PayloadError);
    expect(await db.select().from(orders)).toHaveLength(2);
    expect(payloads(await enqueued(db, sendReceipt, { pgqueue }))).toEqual([{ orderId: 1, to: "ada@example.com" }]);
  });

  test("an error that is caught, with a savepoint and without", async () => {
    const load = await open("transactions/errors-that-you-catch");
    const [{ db }, { sendReceipt }, { orders }, { redeem }] = await Promise.all(
      ["db", "jobs", "schema", "voucher"].map(load),
    );
    expect([await redeem("ada@example.com", "x"), await redeem("bob@example.com", "x")]).toEqual([true, false]);
    expect(await db.select().from(orders)).toHaveLength(2);
    // Without one, by driver.
    const server = await createDatabase({ migrated: true });
    const pool = new pg.Pool({ connectionString: server.url });
    const plain = createPgqueue(pgqueueTables());
    const swallow = (own: Db) =>
      own
        .transaction(async (tx) => {
          await plain.enqueue(tx, sendReceipt, { orderId: 3, to: "eve@example.com" });
          await tx.execute("select 1 / 0").catch(() => {});
          return "resolved";
        })
        .catch(() => "rejected");
    expect([await swallow(onPool({ client: pool })), await swallow(server.db), await swallow(db)]).toEqual([
      "resolved",
      "rejected",
      "rejected",
    ]);
    expect(await plain.listTasks(server.db)).toEqual([]);
    await pool.end();
    await server.end();
  });

  test("a task that ends with its effect", async () => {
    const load = await open("transactions/end-a-task-with-its-effect");
    const [{ db }, schema, { pgqueue }, { addPoints, copySales, worker }] = await Promise.all(
      ["db", "schema", "queue", "effects"].map(load),
    );
    await db.insert(schema.customers).values({ email: "ada@example.com" });
    await db.insert(schema.orders).values([{ email: "a" }, { email: "b" }]);
    await pgqueue.enqueue(db, addPoints, { email: "ada@example.com", points: 5 });
    const runs = await drain(worker, { until: "90s" });
    expect(runs.map(({ queue, result }) => `${queue} ${result}`).sort()).toEqual([
      "add-points done",
      "copy-sales done",
      "copy-sales done",
    ]);
    expect(await db.select().from(schema.customers)).toEqual([{ email: "ada@example.com", points: 5 }]);
    expect(await db.select().from(schema.sales)).toHaveLength(2);
    await expectEnqueued(db, copySales, { payload: { after: 2 } }, { pgqueue });
  });

  test("a loop of one's own", async () => {
    const load = await open("transactions/a-loop-of-your-own");
    const [{ db }, { sendReceipt }, { receipts, tasks }, { pgqueue }, { writeReceipts }] = await Promise.all(
      ["db", "jobs", "schema", "queue", "loop"].map(load),
    );
    const items = [1, 2, 3].map((orderId) => ({ payload: { orderId, to: "ada@example.com" } }));
    const [, second] = await pgqueue.enqueueMany(db, sendReceipt, items);
    await db.insert(receipts).values({ orderId: 3 });
    await db.update(tasks).set({ payload: {} }).where(eq(tasks.id, second.id));
    expect(await writeReceipts()).toBe(3);
    expect(await enqueued(db, sendReceipt, { pgqueue })).toMatchObject([
      { status: "completed", errors: null },
      { status: "failed", errors: [{ name: "PayloadError" }] },
      { status: "pending", attempt: 1, errors: [{}] },
    ]);
    expect(await db.select().from(receipts)).toHaveLength(2);
  });

  test("a statement as a CTE", async () => {
    const load = await open("transactions/as-part-of-your-own-queries");
    const [{ db }, { sendReceipt }, { orders }, { pgqueue }, { customersWithoutReceipt }] = await Promise.all(
      ["db", "jobs", "schema", "queue", "failures"].map(load),
    );
    await db.insert(orders).values({ email: "ada@example.com" });
    const { id } = await pgqueue.enqueue(db, sendReceipt, { orderId: 1, to: "ada@example.com" });
    expect(await customersWithoutReceipt()).toEqual([]);
    const [task] = await pgqueue.claim(db, sendReceipt, { limit: 1 });
    await pgqueue.finalize(db, sendReceipt, { task, result: { type: "fail", error: new Error("no") } });
    expect(await customersWithoutReceipt()).toEqual([
      { taskId: id, email: "ada@example.com", errors: [expect.objectContaining({ message: "no" })] },
    ]);
  });

  test("tasks from a select", async () => {
    const load = await open("transactions/enqueue-from-a-select");
    const [{ db }, { sendReceipt }, { pgqueue }, schema, from] = await Promise.all(
      ["db", "jobs", "queue", "schema", "from"].map(load),
    );
    await from.placeOrder("ada@example.com");
    await expectEnqueued(
      db,
      sendReceipt,
      { payload: { orderId: 1, to: "ada@example.com" }, hash: "receipt:1" },
      { pgqueue },
    );

    await db.insert(schema.uploads).values(["a", "b"].map((path) => ({ path, isOld: path === "a" })));
    expect(await from.removeOldUploads()).toBe(1);
    expect(payloads(await enqueued(db, from.removeFile, { pgqueue }))).toEqual([{ path: "a" }]);
    expect(await db.select().from(schema.uploads)).toMatchObject([{ path: "b" }]);

    const later = new Date("2100-01-01T00:00:00Z");
    await db.insert(schema.reminders).values([1, 2].map((orderId) => ({ orderId, at: later })));
    expect([await from.remindAll(), await from.remindAll()]).toEqual([2, 0]);
    await expectEnqueued(db, from.remind, { payload: { orderId: 2 }, runAt: later }, { pgqueue });
  });

  test("a transaction that has ended", async () => {
    const load = await open("transactions/a-transaction-that-has-ended");
    const { wrong } = await load("missing-await");
    await expect(wrong()).rejects.toThrow(ConflictError);
  });

  test("no NOTIFY", async () => {
    const load = await open("transactions/two-phase-commit");
    const [{ db }, { sendReceipt }, { enqueue }] = await Promise.all(["db", "jobs", "queue"].map(load));
    const told: string[] = [];
    await db.$client.listen("pgqueue", (queue: string) => told.push(queue));
    await enqueue(db, sendReceipt, { orderId: 1, to: "ada@example.com" });
    await db.$client.query("select pg_notify('pgqueue', 'last')");
    expect(told).toEqual(["last"]);
  });

  test("pg-proxy", async () => {
    const load = await open("drivers/without-transactions");
    const [proxy, schema, { pgqueue }, { sendReceipt }] = await Promise.all(
      ["proxy", "schema", "queue", "jobs"].map(load),
    );
    const { generateDrizzleJson, generateMigration } = await import("drizzle-kit/api");
    for (const statement of await generateMigration(generateDrizzleJson({}), generateDrizzleJson(schema))) {
      await proxy.remote.exec(statement);
    }
    expect(await proxy.serve()).toBe(1);
    await expectEnqueued(proxy.db, sendReceipt, { status: "completed" }, { pgqueue });
    const payload = { orderId: 2, to: "ada@example.com" };
    await expect(pgqueue.enqueueMany(proxy.db, sendReceipt, [{ payload }])).rejects.toThrow(/[Tt]ransactions/);
    expect(await pgqueue.enqueueMany(proxy.db, sendReceipt, [{ payload, hash: null }])).toHaveLength(1);
    await proxy.remote.close();
  });
});
