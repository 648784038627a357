import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../src/", import.meta.url));

interface Source {
  /** Path from `src`. */
  readonly path: string;
  /** The folder of `src` that it is in, or its own name where it is in none. */
  readonly part: string;
  readonly text: string;
  /** Parts of `src` that it imports, and other modules by name. */
  readonly imports: readonly string[];
}

const sources: Source[] = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return { path, part: partOf(path), text, imports: importsOf(path, text) };
  });

function partOf(path: string): string {
  return path.includes("/") ? path.split("/")[0]! : basename(path, ".ts");
}

function importsOf(path: string, text: string): string[] {
  const code = text.replaceAll(/\/\*.*?\*\//gs, "");
  const modules = [...code.matchAll(/(?:\bfrom|\bimport\(|^import)\s*"([^"]+)"/gm)].map(([, module = ""]) => module);
  return modules.map((module) =>
    module.startsWith(".") ? partOf(relative(root, join(root, dirname(path), module))) : module,
  );
}

/** What each part of `src` may import, beside itself. */
const below: Record<string, readonly string[]> = {
  errors: [],
  schema: ["errors"],
  tasks: ["schema", "errors"],
  queries: ["tasks", "schema", "errors"],
  worker: ["queries", "tasks", "schema", "errors"],
  migrate: ["queries", "errors"],
  testing: ["worker", "queries", "tasks", "schema", "errors"],
  index: ["worker", "queries", "tasks", "schema", "migrate", "errors"],
};

const outside: Record<string, RegExp> = {
  errors: /^$/,
  schema: /^drizzle-orm(\/pg-core)?$/,
  tasks: /^(valibot|@standard-schema\/spec)$/,
  queries: /^(valibot|drizzle-orm(\/pg-core)?)$/,
  worker: /^(valibot|drizzle-orm(\/pg-core)?|node:.+)$/,
  migrate: /^(drizzle-orm|node:fs\/promises)$/,
  testing: /^(valibot|drizzle-orm(\/.+)?|drizzle-kit(\/.+)?|@electric-sql\/pglite|node:.+)$/,
  index: /^$/,
};

test("src has the parts that this test knows, and imports are found in it", () => {
  expect(new Set(sources.map(({ part }) => part))).toEqual(new Set(Object.keys(below)));
  expect(sources.find(({ path }) => path === "worker/create.ts")?.imports).toEqual(
    expect.arrayContaining(["node:os", "valibot", "errors", "queries", "tasks", "worker"]),
  );
  expect(sources.find(({ path }) => path === "migrate.ts")?.imports).toContain("node:fs/promises");
});

test("a file of src imports only what is below it", () => {
  const isAllowed = (part: string, name: string) =>
    name in below ? [part, ...below[part]!].includes(name) : outside[part]!.test(name);
  const upward = sources.flatMap(({ path, part, imports }) =>
    imports.filter((name) => !isAllowed(part, name)).map((name) => `${path} imports ${name}`),
  );
  expect(upward).toEqual([]);
});

test("a file of src can be read in one go", () => {
  const long = sources.filter(({ text }) => text.split("\n").length - 1 > 250);
  expect(long.map(({ path }) => path)).toEqual([]);
});

test("a file of src is named after a concept", () => {
  const leftovers = sources.filter(({ path }) =>
    /^(utils?|helpers?|common|types|misc|shared)\.ts$/.test(basename(path)),
  );
  expect(leftovers.map(({ path }) => path)).toEqual([]);
});
