import { expect, onTestFinished, test } from "vitest";
import { type Major, Project } from "../projects/project.ts";

const patience = 300_000;

async function createProject(major: Major): Promise<Project> {
  const project = await Project.create(major);
  onTestFinished(() => project.remove());
  await project.copy(new URL("../../examples/unit-tests", import.meta.url), ".");
  return project;
}

test("the unit tests pass in Vitest", { timeout: patience }, async () => {
  const project = await createProject("0.45");
  // Without one, that of this repository would apply.
  await project.write("vitest.config.js", "export default {};");
  const { code, stdout, stderr } = await project.bin("vitest", ["run", "--reporter", "tap-flat"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.match(/^ok .*/gm)).toHaveLength(7);
});

test.each(["0.45", "1.0"] as const)(
  "the unit tests pass in node:test on Drizzle %s",
  { timeout: patience },
  async (major) => {
    const project = await createProject(major);
    const { code, stdout, stderr } = await project.node("--test", ["receipts.node-test.ts"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^(# |ℹ )pass 7$/m);
  },
);
