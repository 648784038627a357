import { readFileSync } from "node:fs";
import { generateDrizzleJson, generateMigration } from "drizzle-kit/api";
import { is, SQL } from "drizzle-orm";
import {
  foreignKey,
  getTableConfig,
  index,
  integer,
  PgDialect,
  type PgTable,
  pgSchema,
  pgTable,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import { describe, expect, test } from "vitest";
import { OptionsError } from "../../src/errors.ts";
import * as schema from "../../src/schema/index.ts";
import { pgqueueTables } from "../../src/schema/tables.ts";

const configOf = (table: unknown) => getTableConfig(table as PgTable);

function textOf(condition: SQL | undefined): string | undefined {
  if (!condition) return undefined;
  const { sql, params } = new PgDialect().sqlToQuery(condition);
  expect(params).toEqual([]);
  return sql;
}

function columnsOf(table: unknown) {
  return configOf(table).columns.map((column) => [
    column.name,
    column.getSQLType(),
    column.notNull,
    is(column.default, SQL) ? textOf(column.default) : column.default,
  ]);
}

function indexesOf(table: unknown) {
  return configOf(table).indexes.map(({ config }) => ({
    name: config.name,
    unique: config.unique,
    columns: config.columns.map((column) => (is(column, SQL) ? "an expression" : (column as { name: string }).name)),
    where: textOf(config.where),
  }));
}

const checksOf = (table: unknown) => configOf(table).checks.map(({ name, value }) => [name, textOf(value)]);

const moment = "timestamp with time zone";
const taskColumns = [
  ["id", "bigint", true, undefined],
  ["queue", "text", true, undefined],
  ["kind", "text", true, "job"],
  ["key", "text", false, undefined],
  ["hash", "text", false, undefined],
  ["hash_held", "boolean", true, false],
  ["status", "text", true, "pending"],
  ["priority", "smallint", true, 0],
  ["payload", "jsonb", true, undefined],
  ["output", "jsonb", false, undefined],
  ["errors", "jsonb", false, undefined],
  ["attempt", "integer", true, 0],
  ["claims", "integer", true, 0],
  ["max_retries", "smallint", false, undefined],
  ["run_at", moment, true, "now()"],
  ["claim_token", "uuid", false, undefined],
  ["claimed_by", "text", false, undefined],
  ["claimed_at", moment, false, undefined],
  ["lease_until", moment, false, undefined],
  ["started_at", moment, false, undefined],
  ["meta", "jsonb", false, undefined],
  ["created_at", moment, true, "now()"],
  ["finished_at", moment, false, undefined],
];

function expectedIndexes(prefix: string, table = `"${prefix}tasks"`) {
  return [
    {
      name: `${prefix}tasks_claim`,
      unique: false,
      columns: ["queue", "priority", "run_at", "id"],
      where: `${table}."status" = 'pending'`,
    },
    {
      name: `${prefix}tasks_lease`,
      unique: false,
      columns: ["queue", "lease_until"],
      where: `${table}."status" = 'running'`,
    },
    { name: `${prefix}tasks_hash`, unique: true, columns: ["queue", "hash"], where: `${table}."hash_held"` },
    { name: `${prefix}tasks_key`, unique: true, columns: ["queue", "key"], where: `${table}."key" is not null` },
    {
      name: `${prefix}tasks_finished`,
      unique: false,
      columns: ["queue", "status", "finished_at"],
      where: `${table}."status" in ('completed', 'failed')`,
    },
  ];
}

function expectedChecks(prefix: string, table = `"${prefix}tasks"`) {
  return [
    [`${prefix}tasks_kind`, `${table}."kind" in ('job', 'ticker')`],
    [`${prefix}tasks_status`, `${table}."status" in ('pending', 'running', 'completed', 'failed', 'disabled')`],
    [`${prefix}tasks_priority`, `${table}."priority" between 0 and 9`],
    [`${prefix}tasks_claim_token`, `(${table}."status" = 'running') = (${table}."claim_token" is not null)`],
  ];
}

describe("the task table", () => {
  const { tasks } = pgqueueTables();

  test("has the columns of the design, by name, type, null and default", () => {
    expect(columnsOf(tasks)).toEqual(taskColumns);
  });

  test("the key is an identity, given by Postgres or by the user", () => {
    const { id } = tasks as unknown as Record<string, PgTable["_"]["columns"][string]>;
    expect(id).toMatchObject({ primary: true, generatedIdentity: { type: "byDefault" } });
    expect(configOf(tasks).primaryKeys).toEqual([]);
    expect(configOf(tasks).columns.filter(({ primary }) => primary)).toHaveLength(1);
  });

  test("status and kind have the enum that validators read", () => {
    const { status, kind } = tasks as unknown as Record<string, { enumValues: string[] }>;
    expect(status!.enumValues).toEqual(["pending", "running", "completed", "failed", "disabled"]);
    expect(kind!.enumValues).toEqual(["job", "ticker"]);
  });

  test("has its indexes, each with its predicate, and no other", () => {
    expect(indexesOf(tasks)).toEqual(expectedIndexes("pgqueue_"));
    expect(configOf(tasks).uniqueConstraints).toEqual([]);
    expect(configOf(tasks).foreignKeys).toEqual([]);
    expect(configOf(tasks).policies).toEqual([]);
  });

  test("indexes are plain btrees, ascending and without options, which drizzle-kit does not re-diff", () => {
    for (const { config } of configOf(tasks).indexes) {
      expect(config.method).toBe("btree");
      expect(config.with ?? {}).toEqual({});
      for (const column of config.columns) {
        expect(column).toMatchObject({ indexConfig: { order: "asc", nulls: "last" } });
        expect((column as unknown as { indexConfig: object }).indexConfig).not.toHaveProperty(
          "opClass",
          expect.anything(),
        );
      }
    }
  });

  test("has its checks", () => {
    expect(checksOf(tasks)).toEqual(expectedChecks("pgqueue_"));
  });
});

test("the queue table", () => {
  const { queues } = pgqueueTables();
  expect(columnsOf(queues)).toEqual([
    ["queue", "text", true, undefined],
    ["paused_at", moment, false, undefined],
  ]);
  expect(configOf(queues).columns.map(({ primary }) => primary)).toEqual([true, false]);
  expect(configOf(queues)).toMatchObject({ name: "pgqueue_queues", indexes: [], checks: [], primaryKeys: [] });
});

describe("options", () => {
  test("default names, and those of pgqueue/schema", () => {
    for (const { tasks, queues } of [pgqueueTables(), pgqueueTables({}), schema]) {
      expect(configOf(tasks)).toMatchObject({ name: "pgqueue_tasks", schema: undefined });
      expect(configOf(queues)).toMatchObject({ name: "pgqueue_queues", schema: undefined });
    }
  });

  test("prefix goes before every name", () => {
    const { tasks, queues } = pgqueueTables({ prefix: "shop_" });
    expect(configOf(tasks).name).toBe("shop_tasks");
    expect(configOf(queues).name).toBe("shop_queues");
    expect(indexesOf(tasks)).toEqual(expectedIndexes("shop_"));
    expect(checksOf(tasks)).toEqual(expectedChecks("shop_"));
    expect(columnsOf(tasks)).toEqual(taskColumns);
  });

  test("the longest prefix gives names that Postgres does not cut", () => {
    const { tasks } = pgqueueTables({ prefix: "x".repeat(40) });
    const names = [...indexesOf(tasks), ...configOf(tasks).checks].map(({ name }) => name!);
    expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(63);
  });

  test("schema holds both tables", () => {
    const { tasks, queues } = pgqueueTables({ schema: pgSchema("jobs") });
    expect(configOf(tasks)).toMatchObject({ name: "pgqueue_tasks", schema: "jobs" });
    expect(configOf(queues)).toMatchObject({ name: "pgqueue_queues", schema: "jobs" });
    expect(indexesOf(tasks)).toEqual(expectedIndexes("pgqueue_", '"jobs"."pgqueue_tasks"'));
    expect(checksOf(tasks)).toEqual(expectedChecks("pgqueue_", '"jobs"."pgqueue_tasks"'));
  });

  test("distributed makes the key (id, queue), and changes nothing else", () => {
    const { tasks, queues } = pgqueueTables({ distributed: true });
    const { primaryKeys, columns } = configOf(tasks);
    expect(primaryKeys.map((key) => key.columns.map(({ name }) => name))).toEqual([["id", "queue"]]);
    expect(columns.filter(({ primary }) => primary)).toEqual([]);
    expect(columnsOf(tasks)).toEqual(taskColumns);
    expect(columns[0]).toMatchObject({ generatedIdentity: { type: "byDefault" } });
    expect(indexesOf(tasks)).toEqual(expectedIndexes("pgqueue_"));
    expect(checksOf(tasks)).toEqual(expectedChecks("pgqueue_"));
    expect(columnsOf(queues)).toEqual(columnsOf(pgqueueTables().queues));
    for (const { config } of configOf(tasks).indexes.filter(({ config }) => config.unique)) {
      expect(config.columns[0]).toMatchObject({ name: "queue" });
    }
  });

  test("columns come after pgqueue's own, and may refer to other tables", () => {
    const orders = pgTable("orders", { id: integer("id").primaryKey() });
    const { tasks } = pgqueueTables({
      columns: {
        tenantId: uuid("tenant_id").notNull(),
        orderId: integer("order_id").references(() => orders.id),
        note: text("note").default("-"),
        unnamed: text(),
      },
    });
    expect(columnsOf(tasks)).toEqual([
      ...taskColumns,
      ["tenant_id", "uuid", true, undefined],
      ["order_id", "integer", false, undefined],
      ["note", "text", false, "-"],
      ["unnamed", "text", false, undefined],
    ]);
    const [reference] = configOf(tasks).foreignKeys;
    expect(reference!.reference()).toMatchObject({ foreignTable: orders });
  });

  test("extraConfig adds to what there is", () => {
    const tenants = pgTable("tenants", { id: uuid("id").primaryKey() });
    const { tasks } = pgqueueTables({
      columns: { tenantId: uuid("tenant_id").notNull() },
      extraConfig: (t) => [
        index("by_tenant").on(t.tenantId, t.runAt),
        foreignKey({ columns: [t.tenantId], foreignColumns: [tenants.id] }),
      ],
    });
    expect(indexesOf(tasks)).toEqual([
      ...expectedIndexes("pgqueue_"),
      { name: "by_tenant", unique: false, columns: ["tenant_id", "run_at"], where: undefined },
    ]);
    expect(configOf(tasks).foreignKeys).toHaveLength(1);
    expect(checksOf(tasks)).toEqual(expectedChecks("pgqueue_"));
  });

  test("each call makes tables of its own", () => {
    expect(pgqueueTables().tasks).not.toBe(pgqueueTables().tasks);
  });
});

describe("bad options are refused", () => {
  function refusalOf(options: object): OptionsError {
    try {
      pgqueueTables(options);
    } catch (error) {
      expect(error).toBeInstanceOf(OptionsError);
      return error as OptionsError;
    }
    throw new Error("they were accepted");
  }

  test.each([
    "",
    "9_",
    "shop-",
    "shop.",
    "shop ",
    'shop"',
    "sh\0p",
    "ü_",
    "x".repeat(41),
    "a\n",
    null,
    true,
    5,
    ["a"],
    {},
  ])("prefix %o", (prefix) => {
    expect(refusalOf({ prefix })).toMatchObject({ field: "pgqueueTables.prefix", value: prefix });
  });

  test.each(["a", "_", "Shop_", "q9_", "x".repeat(40)])("but not prefix %s", (prefix) => {
    expect(configOf(pgqueueTables({ prefix }).tasks).name).toBe(`${prefix}tasks`);
  });

  test.each(["id", "queue", "status", "claimToken", "finishedAt"])("a column %s, which pgqueue has", (name) => {
    const refusal = refusalOf({ columns: { tenantId: uuid("tenant_id"), [name]: text("mine") } });
    expect(refusal).toMatchObject({ field: `pgqueueTables.columns.${name}`, value: name });
  });

  test.each(["id", "queue", "claim_token", "max_retries"])("a column that is %s in SQL, which pgqueue has", (name) => {
    const refusal = refusalOf({ columns: { mine: text(name) } });
    expect(refusal).toMatchObject({ field: "pgqueueTables.columns.mine", value: name });
  });

  test("but not a column whose name only looks like one", () => {
    const columns = { claim_token: text("my_token"), constructor: text("constructor"), Status: text("Status") };
    expect(columnsOf(pgqueueTables({ columns }).tasks).slice(taskColumns.length)).toEqual([
      ["my_token", "text", false, undefined],
      ["constructor", "text", false, undefined],
      ["Status", "text", false, undefined],
    ]);
  });
});

describe("the committed migrations", () => {
  const read = (file: string) => readFileSync(new URL(`../../drizzle/${file}`, import.meta.url), "utf8");
  const journal: { entries: { idx: number; tag: string }[] } = JSON.parse(read("meta/_journal.json"));
  const snapshots = journal.entries.map(({ idx }) =>
    JSON.parse(read(`meta/${String(idx).padStart(4, "0")}_snapshot.json`)),
  );
  const statementsOf = (sql: string) => sql.split("--> statement-breakpoint").map((statement) => statement.trim());
  const nothing = generateDrizzleJson({});

  test("the latest snapshot is the schema: there is nothing left to generate", async () => {
    const last = snapshots.at(-1);
    expect(await generateMigration(last, generateDrizzleJson(schema, last.id))).toEqual([]);
  });

  test("each file leads from one snapshot to the next", async () => {
    for (const [i, { tag }] of journal.entries.entries()) {
      const generated = await generateMigration(snapshots[i - 1] ?? nothing, snapshots[i]);
      expect(statementsOf(read(`${tag}.sql`))).toEqual(generated.map((statement) => statement.trim()));
    }
  });

  test.each([
    ["the default", {}],
    ["with a prefix and a schema", { prefix: "shop_", schema: pgSchema("jobs") }],
    ["distributed", { distributed: true }],
    ["with columns", { columns: { tenantId: uuid("tenant_id").notNull() } }],
  ])("generating twice from tables of a user gives nothing the second time: %s", async (_, options: object) => {
    const [one, two] = [pgqueueTables(options), pgqueueTables(options)];
    const first = generateDrizzleJson({ ...one, ...options });
    expect((await generateMigration(nothing, first)).length).toBeGreaterThan(0);
    expect(await generateMigration(first, generateDrizzleJson({ ...two, ...options }, first.id))).toEqual([]);
  });
});

describe("options of pgqueueTables that cannot be", () => {
  test("an unknown one is refused by name", () => {
    expect(() => pgqueueTables({ distrbuted: true } as object)).toThrow(
      expect.objectContaining({ name: "OptionsError", field: "pgqueueTables.distrbuted", value: true }),
    );
  });

  test("a schema that is none is refused", () => {
    expect(() => pgqueueTables({ schema: "jobs" } as never)).toThrow(
      expect.objectContaining({ name: "OptionsError", field: "pgqueueTables.schema", value: "jobs" }),
    );
  });
});
