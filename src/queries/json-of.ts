import { type Column, type SQL, sql } from "drizzle-orm";
import { type Fields, isLeaf, type Leaf } from "./selection.ts";

/** Postgres takes at most a hundred arguments of a function. */
const mostMembers = 50;

/** The JSON that fields of a select make: an object of those that are nested, what `to_jsonb` makes of a single one. */
export function jsonOf(node: Leaf | Fields): SQL {
  if (isLeaf(node)) return sql`coalesce(to_jsonb(${exactly(node)}), 'null')`;
  const members = Object.entries(node).map(([name, member]) => sql`${name}::text, ${jsonOf(member)}`);
  const objects: SQL[] = [];
  for (let i = 0; i < members.length; i += mostMembers) {
    objects.push(sql`jsonb_build_object(${sql.join(members.slice(i, i + mostMembers), sql`, `)})`);
  }
  return objects.length === 0 ? sql`'{}'::jsonb` : sql`(${sql.join(objects, sql` || `)})`;
}

/** A column that Drizzle reads as text, such as a numeric, is text in JSON too. */
function exactly({ sql: value, column }: Leaf): SQL {
  if (column === undefined || !isText(column) || /char/.test(column.getSQLType())) return value;
  return sql`${value}::text`;
}

/** 0.45 says "string", 1.0 says "string numeric" and so on. */
function isText({ dataType }: Column): boolean {
  return /^string\b/.test(dataType);
}

/** A moment as Drizzle reads the column: without a time zone it is in UTC, whatever the session's zone. */
export function momentOf({ sql: value, column }: Leaf): SQL {
  const type = column?.getSQLType() ?? "";
  const isZoneless = type === "date" || (type.startsWith("timestamp") && !type.endsWith("with time zone"));
  return isZoneless ? sql`${value}::timestamp at time zone 'UTC'` : sql`${value}::timestamptz`;
}
