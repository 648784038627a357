import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

// What tsc infers of a Drizzle table or column is spelled in the classes of the major that it was built with, and is an
// error, or silently `any`, on the other. Such declarations must not be within a user's reach.

const root = fileURLToPath(new URL("../..", import.meta.url));
const entries = ["index.d.ts", "schema/index.d.ts", "testing/index.d.ts"];
/** All that both majors have under the same name with the same parameters. */
const bothMajors = {
  "drizzle-orm": ["QueryPromise", "SQL", "sql", "Table"],
  "drizzle-orm/pg-core": [
    "bigint",
    "boolean",
    "integer",
    "jsonb",
    "PgBigInt53Builder",
    "PgColumn",
    "PgSchema",
    "PgTableExtraConfigValue",
    "pgTable",
    "smallint",
    "text",
    "timestamp",
    "uuid",
    "withReplicas",
  ],
  "drizzle-orm/pglite": ["drizzle", "PgliteDatabase"],
};

let dist: string;
beforeAll(() => {
  dist = mkdtempSync(join(tmpdir(), "pgqueue-declarations-"));
  const tsc = join(root, "node_modules/.bin/tsc");
  execFileSync(tsc, ["-p", "tsconfig.build.json", "--emitDeclarationOnly", "--outDir", dist], { cwd: root });
});
afterAll(() => rmSync(dist, { recursive: true, force: true }));

/** The declarations that the entries lead to, without their comments. */
function reachable(): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (file: string) => {
    if (found.has(file)) return;
    const text = readFileSync(join(dist, file), "utf8").replaceAll(/\/\*.*?\*\//gs, "");
    found.set(file, text);
    for (const [, module = ""] of text.matchAll(/(?:from |import\()"(\.[^"]+)"/g)) {
      visit(relative(dist, resolve(dist, dirname(file), module.replace(/\.[jt]s$/, ".d.ts"))));
    }
  };
  for (const entry of entries) visit(entry);
  return found;
}

/** Each `name of "module"` of Drizzle that a declaration mentions. */
function drizzleNames(text: string): string[] {
  const imported = [...text.matchAll(/import (?:type )?\{([^}]*)\} from "(drizzle-orm[^"]*)"/g)].flatMap(
    ([, names = "", module]) => names.split(",").map((name) => `${name.trim().replace(/^type /, "")} of ${module}`),
  );
  const inferred = [...text.matchAll(/import\("(drizzle-orm[^"]*)"\)\.(\w+)/g)].map(
    ([, module, name]) => `${name} of ${module}`,
  );
  return [...imported, ...inferred];
}

describe("declarations in reach of a user", () => {
  test("are those of the public face and what it leads to", () => {
    const files = [...reachable().keys()];
    expect(files).toEqual(expect.arrayContaining([...entries, "schema/tables.d.ts", "queries/pgqueue.d.ts"]));
    expect(files.every((file) => existsSync(join(dist, file)))).toBe(true);
  });

  test("mention nothing of Drizzle that one of its majors has not", () => {
    const allowed = new Set(
      Object.entries(bothMajors).flatMap(([module, names]) => names.map((name) => `${name} of ${module}`)),
    );
    const leaks = [...reachable()].flatMap(([file, text]) =>
      drizzleNames(text)
        .filter((name) => !allowed.has(name))
        .map((name) => `${file}: ${name}`),
    );
    expect([...new Set(leaks)]).toEqual([]);
  });

  test("spell out no class of a column, table or builder", () => {
    const spelled =
      /\b(Pg\w*Column\w*|Pg\w*Builder\w*|PgTable\w*|PgDatabase|PgTransaction|\w*Subquery\w*|\w*ColumnBaseConfig)</;
    const leaks = [...reachable()].filter(([, text]) => spelled.test(text)).map(([file]) => file);
    expect(leaks).toEqual([]);
  });

  test("so the tables are named by what pgqueue calls them", () => {
    const declarations = reachable().get("schema/index.d.ts");
    expect(declarations).toContain('.TasksTable<"pgqueue_tasks", {}>');
    expect(declarations).toContain('.QueuesTable<"pgqueue_queues">');
  });
});
