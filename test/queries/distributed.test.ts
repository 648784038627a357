import { parse } from "libpg-query";
import { afterAll, expect, test } from "vitest";
import { createPgqueue, type Pgqueue, pgqueueTables } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { liveThrough } from "./live-through.ts";
import { recorded } from "./recorder.ts";

// What Citus asks of statements on tables that are distributed by queue, read off the SQL that Drizzle emits.

const database = await createDatabase({ migrated: true });
afterAll(database.end);
await database.client`alter table pgqueue_tasks drop constraint pgqueue_tasks_pkey, add primary key (id, queue)`;

/** The statements that find a row by its id alone, and those that read all queues. */
const byId = ["enable", "disable", "requeue", "getTask"];
const overAll = ["stats"];

const emitted = await statementsOf(createPgqueue(pgqueueTables({ distributed: true })));

async function statementsOf(pgqueue: Pgqueue): Promise<[name: string, tree: Node][]> {
  let calling = "";
  const { db, statements } = recorded(database);
  const names: string[] = [];
  const { push } = statements;
  statements.push = (...texts) => {
    names.push(...texts.map(() => calling));
    return push.apply(statements, texts);
  };
  const watched = new Proxy(pgqueue, {
    get(target, name: keyof Pgqueue) {
      return (...args: unknown[]) => {
        calling = name;
        return (target[name] as (...args: unknown[]) => unknown)(...args);
      };
    },
  });
  await liveThrough(watched, db);
  const trees = await Promise.all(statements.map((text) => parse(text)));
  return trees.map((tree, i) => [names[i]!, tree as Node]);
}

type Node = { [key: string]: unknown };
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;

/** Every node of a kind below, with how it is reached. */
function find(kind: string, tree: unknown): Node[] {
  if (!isNode(tree)) return [];
  return Object.entries(tree).flatMap(([key, value]) => [
    ...(key === kind && isNode(value) ? [value] : []),
    ...find(kind, value),
  ]);
}

const queries = ["SelectStmt", "UpdateStmt", "DeleteStmt"];

/** The nodes of a kind that belong to this query itself, and not to one within. */
function own(kind: string, query: unknown): Node[] {
  if (!isNode(query)) return [];
  return Object.entries(query).flatMap(([key, value]) => {
    if (queries.includes(key)) return [];
    return [...(key === kind && isNode(value) ? [value] : []), ...own(kind, value)];
  });
}

/** Each query that reads or changes a task table, wherever in the statement. */
function queriesOnTables(tree: Node): { tables: string[]; where: unknown; query: Node }[] {
  return queries
    .flatMap((kind) => find(kind, tree))
    .map((query) => {
      const { withClause, whereClause, lockingClause, relation, ...rest } = query;
      const ranges = [...own("RangeVar", rest), ...(isNode(relation) ? [relation] : [])];
      const tables = ranges
        .map(({ relname }) => String(relname))
        .filter((name) => name === "pgqueue_tasks" || name === "pgqueue_queues");
      return { tables, where: [whereClause, own("JoinExpr", rest).map(({ quals }) => quals)], query };
    })
    .filter(({ tables }) => tables.length > 0);
}

/** How often a condition says of a column `queue` what it is equal to. */
function queuesIn(where: unknown): number {
  return [...own("A_Expr", where), ...directly(where)].filter(({ lexpr, name }) => {
    const [operator] = find("String", name).map(({ sval }) => sval);
    const column = find("ColumnRef", { lexpr }).flatMap((ref) => find("String", ref).map(({ sval }) => sval));
    return operator === "=" && column.at(-1) === "queue";
  }).length;
}

function directly(where: unknown): Node[] {
  return isNode(where) && isNode(where.A_Expr) ? [where.A_Expr] : [];
}

test("every statement is looked at", () => {
  const all = Object.keys(createPgqueue(pgqueueTables()));
  expect(new Set(emitted.map(([name]) => name))).toEqual(new Set(all));
});

test("the queue is in each where, but in recovery by id and in what reads all queues", () => {
  let count = 0;
  for (const [name, tree] of emitted) {
    if (byId.includes(name) || overAll.includes(name)) continue;
    for (const { tables, where } of queriesOnTables(tree)) {
      count++;
      expect([name, queuesIn(where)]).toEqual([name, Math.max(1, tables.length)]);
    }
  }
  expect(count).toBeGreaterThan(30);
});

test("what revives a row by its id takes the queue of the row that it found", () => {
  const updates = emitted.filter(([name]) => ["enable", "requeue"].includes(name));
  expect(updates.length).toBeGreaterThan(1);
  for (const [name, tree] of updates) {
    for (const update of find("UpdateStmt", tree)) expect([name, queuesIn(update.whereClause)]).toEqual([name, 1]);
  }
});

test("every insert names its queue", () => {
  const inserts = emitted.flatMap(([, tree]) => find("InsertStmt", tree));
  expect(inserts.length).toBeGreaterThan(5);
  for (const { cols } of inserts) {
    expect(find("ResTarget", cols).map(({ name }) => name)).toContain("queue");
  }
});

test("no volatile function is in an update", async () => {
  const updates = emitted.filter(([, tree]) => find("UpdateStmt", tree).length > 0);
  expect(new Set(updates.map(([name]) => name)).size).toBeGreaterThan(8);
  for (const [name, tree] of updates) {
    const calls = find("FuncCall", tree).map(({ funcname }) => find("String", funcname).at(-1)!.sval as string);
    const volatile = await database.client`
      select distinct proname from pg_proc where proname = any(${calls}) and provolatile = 'v'`;
    expect([name, volatile.map(({ proname }) => proname)]).toEqual([name, []]);
  }
});
