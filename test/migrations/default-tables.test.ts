import { expect, test } from "vitest";
import { createDatabase } from "../postgres/database.ts";
import { majors } from "../projects/project.ts";
import { fingerprint } from "./fingerprint.ts";
import { Kit, type KitConfig } from "./kit.ts";

const config: KitConfig = { schema: "./schema.ts", out: "drizzle" };

/** The database that each way of making the default tables leads to. */
async function madeBy(major: (typeof majors)[number]): Promise<Record<string, string[]>> {
  const kit = await Kit.create(major);
  await kit.project.write("schema.ts", 'export * from "pgqueue/schema";\n');
  const [generated, pushed] = await Promise.all([createDatabase(), createDatabase()]);
  const { statements } = await kit.generate(config);
  for (const statement of statements) await generated.client.unsafe(statement);
  const { stdout } = await kit.push(config, pushed.url);
  expect(stdout).toContain("Changes applied");
  const facts = {
    [`generate ${major}`]: await fingerprint(generated.client),
    [`push ${major}`]: await fingerprint(pushed.client),
  };
  await Promise.all([generated.end(), pushed.end(), kit.project.remove()]);
  return facts;
}

test("drizzle-kit of both majors makes the database that migrate(db) makes", { timeout: 120_000 }, async () => {
  const migrated = await createDatabase({ migrated: true });
  const expected = await fingerprint(migrated.client);
  await migrated.end();
  expect(expected).toContainEqual(
    expect.stringMatching(/^index CREATE INDEX pgqueue_tasks_claim ON .* \(queue, priority, run_at, id\) WHERE/),
  );
  for (const made of await Promise.all(majors.map(madeBy))) {
    for (const [way, facts] of Object.entries(made)) expect({ way, facts }).toEqual({ way, facts: expected });
  }
});
