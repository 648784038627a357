import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { majors } from "../projects/project.ts";
import { Kit } from "./kit.ts";
import { runTasks } from "./user-code.ts";

const patience = 120_000;
const imports = `
  import { index, pgSchema, text } from "drizzle-orm/pg-core";
  import { pgqueueTables } from "pgqueue/schema";\n`;
const plain = "export const { tasks, queues } = pgqueueTables();\n";
const prefixed = 'export const { tasks: jobTasks, queues: jobQueues } = pgqueueTables({ prefix: "job_" });\n';

const rename = (kind: string, from: string[], to: string[]) => ({ type: "rename", kind, from, to });
const tables = ["tasks", "queues"];

describe.concurrent.each(majors)("a changed option, on drizzle %s:", (major) => {
  describe.sequential("", () => {
    let kit: Kit;
    let base: string[];
    const databases: TestDatabase[] = [];
    beforeAll(async () => {
      kit = await Kit.create(major);
      await kit.project.write("schema.ts", imports + plain);
      base = (await kit.generate({ schema: "./schema.ts", out: "base" })).statements;
    }, patience);
    afterAll(() => Promise.all([kit.project.remove(), ...databases.map((database) => database.end())]));

    /** A database with the tables of before, and a task in them. */
    const standing = async () => {
      const database = await createDatabase();
      databases.push(database);
      for (const statement of base) await database.client.unsafe(statement);
      await database.client`insert into pgqueue_tasks (queue, payload) values ('kept', '1')`;
      return database;
    };
    const apply = async ({ client }: TestDatabase, statements: readonly string[]) => {
      for (const statement of statements) await client.unsafe(statement);
    };
    const change = async (out: string, text: string, hints?: unknown) => {
      if ((await kit.project.files(out)).length === 0) {
        await kit.project.copy(pathToFileURL(join(kit.project.folder, "base")), out);
      }
      await kit.project.write("schema.ts", imports + text);
      return kit.generate({ schema: "./schema.ts", out }, hints ? [`--hints=${JSON.stringify(hints)}`] : []);
    };
    /** drizzle-kit 0.31 can ask nobody, and fails; 1.0 says how to answer by a flag. Neither writes a migration. */
    const asks = ({ code, stdout, stderr, statements }: Awaited<ReturnType<typeof change>>, table: string) => {
      expect(statements).toEqual([]);
      if (major === "0.45") expect(stderr).toContain("Interactive prompts require a TTY terminal");
      else
        expect({ code, stdout }).toEqual({
          code: 2,
          stdout: expect.stringContaining(`Rename or create  —  table  ${table}`),
        });
    };
    const run = async ({ url }: TestDatabase, ...exports: [string, string]) =>
      (await runTasks(kit, [{ module: "./schema.ts", exports }], [{ url }]))[0]?.[0];

    test("columns and indexes of the user's are added, and nothing else", { timeout: patience }, async () => {
      const { statements } = await change(
        "columns",
        `export const { tasks, queues } = pgqueueTables({
          columns: { tenant: text("tenant") },
          extraConfig: (t) => [index("by_tenant").on(t.tenant)],
        });`,
      );
      const using = major === "0.45" ? "USING btree " : "";
      expect(statements).toEqual([
        'ALTER TABLE "pgqueue_tasks" ADD COLUMN "tenant" text;',
        `CREATE INDEX "by_tenant" ON "pgqueue_tasks" ${using}("tenant");`,
      ]);
    });

    test("`distributed` changes the primary key, and nothing else", { timeout: patience }, async () => {
      const { statements } = await change("distributed", plain.replace("()", "({ distributed: true })"));
      const database = await standing();
      if (major === "0.45") {
        const [drop = "", add = "", ...more] = statements;
        expect(more).toEqual([]);
        // The name of the old key is left to the user.
        expect(drop).toMatch(/-- ALTER TABLE "pgqueue_tasks" DROP CONSTRAINT "<constraint_name>";$/);
        expect(add).toBe(
          'ALTER TABLE "pgqueue_tasks" ADD CONSTRAINT "pgqueue_tasks_id_queue_pk" PRIMARY KEY("id","queue");',
        );
        await expect(apply(database, statements)).rejects.toMatchObject({ code: "42P16" });
        await apply(database, ['ALTER TABLE "pgqueue_tasks" DROP CONSTRAINT "pgqueue_tasks_pkey"', add]);
      } else {
        expect(statements).toEqual([
          'ALTER TABLE "pgqueue_tasks" DROP CONSTRAINT "pgqueue_tasks_pkey";',
          'ALTER TABLE "pgqueue_tasks" ADD PRIMARY KEY ("id","queue");',
        ]);
        await apply(database, statements);
      }
      expect(await run(database, "tasks", "queues")).toBe("completed");
    });

    test("another prefix is a question; side by side first, it is none", { timeout: patience }, async () => {
      asks(await change("prefix", prefixed), "public.job_tasks");

      const { statements: made } = await change("prefix", plain + prefixed);
      expect(made.filter((statement) => !/^CREATE (TABLE|INDEX|UNIQUE INDEX) "job_/.test(statement))).toEqual([]);
      expect(made).toHaveLength(7);
      const database = await standing();
      await apply(database, made);
      const { statements: dropped } = await change("prefix", prefixed);
      const cascade = major === "0.45" ? " CASCADE" : "";
      expect(dropped).toEqual(
        ['DROP TABLE "pgqueue_queues"', 'DROP TABLE "pgqueue_tasks"'].map((drop) => `${drop}${cascade};`),
      );
      await apply(database, dropped);
      expect(await run(database, "jobTasks", "jobQueues")).toBe("completed");
    });

    test("a pgSchema is a question too", { timeout: patience }, async () => {
      const text =
        'export const jobs = pgSchema("jobs");\nexport const { tasks, queues } = pgqueueTables({ schema: jobs });\n';
      asks(await change("schema", text), "jobs.pgqueue_tasks");
    });

    // 0.31 takes its answers from a terminal only.
    if (major === "1.0") {
      test("both answered by a flag keep the tasks", { timeout: patience }, async () => {
        const schema =
          'export const jobs = pgSchema("jobs");\nexport const { tasks, queues } = pgqueueTables({ schema: jobs });\n';
        const moves = tables.map((name) => rename("table", ["public", `pgqueue_${name}`], ["jobs", `pgqueue_${name}`]));
        const { statements: moved } = await change("moved", schema, moves);
        expect(moved).toEqual([
          'CREATE SCHEMA "jobs";',
          'ALTER TABLE "pgqueue_queues" SET SCHEMA "jobs";',
          'ALTER TABLE "pgqueue_tasks" SET SCHEMA "jobs";',
        ]);
        const inSchema = await standing();
        await apply(inSchema, moved);
        expect(await run(inSchema, "tasks", "queues")).toBe("completed");
        expect(await inSchema.client`select from jobs.pgqueue_tasks where queue = 'kept'`).toHaveLength(1);

        const parts = {
          check: ["kind", "status", "priority", "claim_token"],
          index: ["claim", "lease", "hash", "key", "finished"],
        };
        const inner = Object.entries(parts).flatMap(([kind, names]) =>
          names.map((name) =>
            rename(
              kind,
              ["public", "job_tasks", `pgqueue_tasks_${name}`],
              ["public", "job_tasks", `job_tasks_${name}`],
            ),
          ),
        );
        const outer = tables.map((name) => rename("table", ["public", `pgqueue_${name}`], ["public", `job_${name}`]));
        const { statements: renamed } = await change("renamed", prefixed, [...outer, ...inner]);
        expect(renamed.filter((statement) => !/^ALTER (TABLE|INDEX) .* RENAME/.test(statement))).toEqual([]);
        const database = await standing();
        await apply(database, renamed);
        expect(await run(database, "jobTasks", "jobQueues")).toBe("completed");
        expect(await database.client`select from job_tasks where queue = 'kept'`).toHaveLength(1);
      });
    }

    test("a newer pgqueue adds its column, and nothing else", { timeout: patience }, async () => {
      const columns = "node_modules/pgqueue/dist/schema/columns.js";
      const newer = await kit.project.read(columns);
      const older = newer.replace(/^\s*startedAt: .*\n/m, "");
      expect(older).not.toBe(newer);
      await kit.project.write("schema.ts", imports + plain);
      const generate = () => kit.generate({ schema: "./schema.ts", out: "upgrade" });
      await kit.project.write(columns, older);
      const { statements: old } = await generate();
      const database = await createDatabase();
      databases.push(database);
      await apply(database, old);

      await kit.project.write(columns, newer);
      expect(await run(database, "tasks", "queues")).toMatch(
        /^SchemaError: column .*started_at.* older version .*`drizzle-kit generate` and apply the migration/,
      );
      const { statements } = await generate();
      expect(statements).toEqual(['ALTER TABLE "pgqueue_tasks" ADD COLUMN "started_at" timestamp with time zone;']);
      await apply(database, statements);
      expect(await run(database, "tasks", "queues")).toBe("completed");
    });
  });
});
