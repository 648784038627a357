import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { majors, Project } from "./project.ts";

const versions = { "0.45": /^0\.45\./, "1.0": /^1\.0\./ };

describe.each(majors)("a project on drizzle %s", (major) => {
  let project: Project;
  beforeAll(async () => {
    project = await Project.create(major);
    await project.write("report.ts", report);
  });
  afterAll(() => project.remove());

  const expected = {
    own: expect.stringMatching(versions[major]),
    library: expect.stringMatching(versions[major]),
    kit: expect.stringMatching(major === "0.45" ? /^0\.31\./ : /^1\.0\./),
    isBuilt: true,
    hasTables: true,
  };

  test("has that major, and pgqueue on the same copy of it, in Node", async () => {
    const { code, stdout, stderr } = await project.node("report.ts");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ ...expected, runtime: process.version });
  });

  test("and in Bun", async () => {
    const { code, stdout, stderr } = await project.bun("report.ts");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ ...expected, runtime: expect.stringMatching(/^bun \d/) });
  });
});

const report = `
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { getTableName } from "drizzle-orm";
import { tasks } from "pgqueue/schema";

const require = createRequire(import.meta.url);
const fromLibrary = createRequire(require.resolve("pgqueue/schema"));
const version = (entry: string, name: string): string =>
  JSON.parse(readFileSync(entry.slice(0, entry.lastIndexOf(name) + name.length) + "/package.json", "utf8")).version;

console.log(JSON.stringify({
  own: version(require.resolve("drizzle-orm"), "node_modules/drizzle-orm"),
  library: version(fromLibrary.resolve("drizzle-orm"), "node_modules/drizzle-orm"),
  kit: version(require.resolve("drizzle-kit"), "node_modules/drizzle-kit"),
  isBuilt: require.resolve("pgqueue/schema").endsWith("dist/schema/index.js"),
  hasTables: getTableName(tasks) === "pgqueue_tasks",
  runtime: "Bun" in globalThis ? "bun " + process.versions.bun : process.version,
}));
`;
