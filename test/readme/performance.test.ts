import { readFile } from "node:fs/promises";
import { afterAll, expect, test } from "vitest";
import { createDatabase } from "../postgres/database.ts";
import { blocksOf } from "./blocks.ts";

const database = await createDatabase({ migrated: true });
afterAll(database.end);

test("the settings of the page on performance are taken by Postgres", async () => {
  const page = await readFile(new URL("../../docs/performance.md", import.meta.url), "utf8");
  const settings = blocksOf(page).filter(({ language }) => language === "sql");
  expect(settings).toHaveLength(1);
  const { text } = settings[0]!;
  await database.client.unsafe(text);
  const options = await database.client`
    select relname, cardinality(reloptions) as count from pg_class
    where oid in ('pgqueue_tasks'::regclass, 'pgqueue_tasks_pkey'::regclass) order by relname`;
  expect([...options]).toEqual([
    { relname: "pgqueue_tasks", count: 4 },
    { relname: "pgqueue_tasks_pkey", count: 1 },
  ]);
});
