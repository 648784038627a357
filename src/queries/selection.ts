import { Column, getTableColumns, is, SQL, Subquery, sql, Table } from "drizzle-orm";
import { OptionsError } from "../errors.ts";

/** A field of a user's select, by the name that `source` gives it. */
export interface Leaf {
  readonly sql: SQL;
  /** What was selected. */
  readonly field: unknown;
}

/** Fields as the user nested them. */
export interface Fields {
  readonly [name: string]: Leaf | Fields;
}

/** A select of the user's, taken apart. */
export interface Selection {
  /** The CTEs that it begins with, for the top level: what changes data may stand only there. */
  readonly ctes: readonly Subquery[];
  /** `(…) as source(c0, c1, …)`: names by position, since those of the select may be missing or repeated. */
  readonly source: SQL;
  readonly fields: Fields;
}

interface SelectBuilder {
  readonly _: { readonly selectedFields: Record<string, unknown> };
  readonly config: { withList?: readonly Subquery[] };
  getSQL(): SQL;
}

/** @throws OptionsError when it is not a select of named fields. */
export function readSelection(field: string, select: unknown): Selection {
  if (!isSelectBuilder(select)) {
    throw new OptionsError(field, select, "a select of named fields, as in db.select({ payload: … }).from(…)");
  }
  let count = 0;
  const read = (node: unknown): Leaf | Fields => {
    if (is(node, Column) || is(node, SQL) || is(node, SQL.Aliased) || is(node, Subquery)) {
      return { sql: sql`source.${sql.identifier(`c${count++}`)}`, field: node };
    }
    const members = is(node, Table) ? getTableColumns(node) : (node as Record<string, unknown>);
    return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, read(member)]));
  };
  const fields = read(select._.selectedFields) as Fields;
  const names = Array.from({ length: count }, (_, i) => sql.identifier(`c${i}`));
  const { ctes, body } = split(select);
  for (const cte of ctes) {
    const name = cte._.alias;
    if (/^pgqueue_/.test(name))
      throw new OptionsError(`${field}.with`, name, "a CTE whose name does not begin with pgqueue_");
  }
  return { ctes, source: sql`(${body}) as source(${sql.join(names, sql`, `)})`, fields };
}

export function isLeaf(node: Leaf | Fields): node is Leaf {
  return is(node.sql, SQL);
}

function isSelectBuilder(select: unknown): select is SelectBuilder {
  const { _, config, getSQL } = (select ?? {}) as Partial<SelectBuilder>;
  return typeof getSQL === "function" && typeof config === "object" && typeof _?.selectedFields === "object";
}

/** Drizzle has no way to ask for a select without its CTEs, so it is built while it has none. */
function split(select: SelectBuilder): { ctes: readonly Subquery[]; body: SQL } {
  const { withList: ctes = [] } = select.config;
  select.config.withList = [];
  try {
    return { ctes, body: select.getSQL() };
  } finally {
    select.config.withList = ctes;
  }
}
