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
  await database.client.unsafe(settings[0]!.text);
  const [row] = await database.client`select reloptions from pg_class where oid = 'pgqueue_tasks'::regclass`;
  expect(row!.reloptions).toHaveLength(3);
});
