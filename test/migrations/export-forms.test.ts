import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { majors } from "../projects/project.ts";
import { exportForms } from "./export-forms.ts";
import { Kit } from "./kit.ts";
import { runTasks } from "./user-code.ts";

const patience = 120_000;
const everyForm = Object.entries(exportForms);
const forms = {
  module: everyForm,
  // What else there is to see: a CommonJS module that requires pgqueue's ES modules, and none in between.
  commonjs: everyForm.filter(([name]) => /^(the two tables by name|all of|pgqueue's module)/.test(name)),
};

describe.concurrent.each(majors)("drizzle-kit for drizzle %s", (major) => {
  describe.sequential.each(["module", "commonjs"] as const)("in a project of type %s finds", (type) => {
    let kit: Kit;
    let database: TestDatabase;
    beforeAll(async () => {
      [kit, database] = await Promise.all([Kit.create(major), createDatabase()]);
      await kit.project.write("package.json", JSON.stringify({ name: "shop", private: true, type }));
      for (const [name, text] of forms[type].flatMap(([, { files = {} }]) => Object.entries(files))) {
        await kit.project.write(name, text);
      }
    });
    afterAll(() => Promise.all([kit.project.remove(), database.end()]));

    // All forms share the migrations: after the first there is nothing left to generate, if they come to the same tables.
    test.each(forms[type])("%s", { timeout: patience }, async (name, { schema }) => {
      const { code, stdout, stderr, statements } = await kit.generate({ schema, out: "drizzle" });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const tables = statements.flatMap((statement) => /^CREATE TABLE (\S+)/.exec(statement)?.[1] ?? []);
      if (name === everyForm[0]?.[0]) expect(tables).toEqual(['"pgqueue_queues"', '"pgqueue_tasks"']);
      else
        expect({ stdout, statements }).toEqual({
          stdout: expect.stringContaining("No schema changes"),
          statements: [],
        });
    });

    test("tables that the user's code works with", { timeout: patience }, async () => {
      const { code, stderr } = await kit.migrate({ schema: "./two.ts", out: "drizzle" }, database.url);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const sets = forms[type].map(([, { set }]) => set);
      expect(await runTasks(kit, sets, [{ url: database.url }])).toEqual([sets.map(() => "completed")]);
    });
  });
});
