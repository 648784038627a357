import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bench } from "./modules.ts";

const { busyTables } = await bench("sides/busy-tables.ts");

test("tables at their best are filled as the page about performance says", () => {
  const page = readFileSync(new URL("../../docs/performance.md", import.meta.url), "utf8");
  const [, section = ""] = page.split("\n## Busy tables\n");
  const [, sql = ""] = /^```sql\n(.*?)^```$/ms.exec(section.split("\n## ")[0]!) ?? [];
  const statements = sql.split(";").map((statement) => statement.trim().replaceAll(/\s+/g, " "));
  expect(statements.filter((statement) => statement.includes("fillfactor"))).toEqual(busyTables);
});
