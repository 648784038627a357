import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { majors } from "../projects/project.ts";
import { Kit } from "./kit.ts";
import { runTasks } from "./user-code.ts";

const patience = 120_000;
const imports = `import { pgSchema } from "drizzle-orm/pg-core";\nimport { pgqueueTables } from "pgqueue/schema";\n`;
const advice =
  /^SchemaError: .*does not exist in this database.*export const \{ tasks, queues \} = pgqueueTables\(\).*drizzle-kit generate.*apply the migration/;

describe.concurrent.each(majors)("what drizzle-kit for drizzle %s does not find:", (major) => {
  describe.sequential("", () => {
    let kit: Kit;
    let database: TestDatabase;
    beforeAll(async () => {
      [kit, database] = await Promise.all([Kit.create(major), createDatabase()]);
    });
    afterAll(() => Promise.all([kit.project.remove(), database.end()]));

    const generate = async (name: string, text: string) => {
      await kit.project.write(`${name}.ts`, imports + text);
      const { code, stderr, statements } = await kit.generate({ schema: `./${name}.ts`, out: name });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return statements;
    };
    const use = async (name: string, ...exports: [string, string] | [string]) => {
      const [results] = await runTasks(kit, [{ module: `./${name}.ts`, exports }], [{ url: database.url }]);
      return results?.[0];
    };

    test("tables in an object, and says nothing", { timeout: patience }, async () => {
      expect(await generate("object", "export const pgqueue = pgqueueTables();\n")).toEqual([]);
      expect(await use("object", "pgqueue")).toMatch(advice);
    });

    test("tables in a folder of a folder", { timeout: patience }, async () => {
      await kit.project.write(
        "folder/nested/queue.ts",
        `${imports}export const { tasks, queues } = pgqueueTables();\n`,
      );
      await kit.project.write("folder/constants.ts", "export const answer = 42;\n");
      const { code, statements } = await kit.generate({ schema: "./folder", out: "of-folder" });
      expect({ code, statements }).toEqual({ code: 0, statements: [] });
    });

    test("a pgSchema at a push of 0.31 that has no filter naming it", { timeout: patience }, async () => {
      const text =
        'export const mail = pgSchema("mail");\nexport const { tasks, queues } = pgqueueTables({ schema: mail });\n';
      await kit.project.write("pushed.ts", imports + text);
      const config = { schema: "./pushed.ts", out: "pushed" };
      const { code, stdout } = await kit.push(config, database.url);
      const made = await database.client`select to_regclass('mail.pgqueue_tasks') is not null as made`;
      if (major === "1.0") expect({ code, made }).toEqual({ code: 0, made: [{ made: true }] });
      else {
        expect({ code, stdout, made }).toEqual({
          code: 0,
          stdout: expect.stringContaining("No changes detected"),
          made: [{ made: false }],
        });
        await kit.push({ ...config, schemaFilter: ["public", "mail"] }, database.url);
      }
      expect(await use("pushed", "tasks", "queues")).toBe("completed");
    });

    test("a pgSchema that is not exported, whose migration then fails", { timeout: patience }, async () => {
      const text =
        'const jobs = pgSchema("jobs");\nexport const { tasks, queues } = pgqueueTables({ schema: jobs });\n';
      const statements = await generate("schema", text);
      expect(statements).toContainEqual(expect.stringMatching(/^CREATE TABLE "jobs"."pgqueue_tasks"/));
      expect(statements.filter((statement) => statement.startsWith("CREATE SCHEMA"))).toEqual([]);
      // 0.31 does not even say why.
      expect((await kit.migrate({ schema: "./schema.ts", out: "schema" }, database.url)).code).toBe(1);
      expect(await database.client`select from pg_namespace where nspname = 'jobs'`).toHaveLength(0);
      const error = await use("schema", "tasks", "queues");
      expect(error).toMatch(advice);
      expect(error).not.toContain("migrate(db)");
      expect(error).toMatch(/export const \w+ = pgSchema\("jobs"\)/);
    });
  });
});
