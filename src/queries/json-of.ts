import { Column, is, SQL, sql } from "drizzle-orm";
import { type Fields, isLeaf, type Leaf } from "./selection.ts";

/** Postgres takes at most a hundred arguments of a function. */
const mostMembers = 50;

/** The JSON that fields of a select make: an object of those that are nested, what `to_jsonb` makes of a single one. */
export function jsonOf(node: Leaf | Fields): SQL {
  if (isLeaf(node)) return sql`coalesce(to_jsonb(${asDrizzleReadsIt(node)}), 'null')`;
  const members = Object.entries(node).map(([name, member]) => sql`${name}::text, ${jsonOf(member)}`);
  const objects: SQL[] = [];
  for (let i = 0; i < members.length; i += mostMembers) {
    objects.push(sql`jsonb_build_object(${sql.join(members.slice(i, i + mostMembers), sql`, `)})`);
  }
  return objects.length === 0 ? sql`'{}'::jsonb` : sql`(${sql.join(objects, sql` || `)})`;
}

/** What Drizzle reads as text, such as a numeric or a sum of them, is text in JSON too. */
function asDrizzleReadsIt({ sql: value, field }: Leaf): SQL {
  const column = columnOf(field);
  if (column) {
    const { isText, dimensions } = readingOf(column);
    return isText ? sql`${value}::text${sql.raw("[]".repeat(Math.min(dimensions, 1)))}` : value;
  }
  return decoderOf(field) === String ? sql`${value}::text` : value;
}

/** The column that a field is, or is read by: `max(orders.price)` is read as `orders.price` is. */
function columnOf(field: unknown): Column | undefined {
  if (is(field, Column)) return field;
  const decoder = decoderOf(field);
  return is(decoder, Column) ? decoder : undefined;
}

function decoderOf(field: unknown): unknown {
  const inner = is(field, SQL.Aliased) ? field.sql : field;
  const { decoder } = inner as { decoder?: unknown };
  const { mapFromDriverValue } = (decoder ?? {}) as { mapFromDriverValue?: unknown };
  // `mapWith(String)`, as of sum() and avg(), is kept as a decoder that has String as its one method.
  return mapFromDriverValue === String ? String : decoder;
}

/** Whether Drizzle reads a column, or the items of an array, as text. 0.45 says "string", 1.0 "string numeric" and so on. */
function readingOf(column: Column): { isText: boolean; dimensions: number } {
  const { baseColumn, dimensions = 0 } = column as Column & { baseColumn?: Column; dimensions?: number };
  if (baseColumn) {
    const inner = readingOf(baseColumn);
    return { isText: inner.isText, dimensions: inner.dimensions + 1 };
  }
  // A cast to text would add to an inet, and take from a char; to_jsonb takes them as they print.
  const isPrinted = /^(inet|char|character)\b(?! varying)/.test(column.getSQLType());
  return { isText: /^string\b/.test(column.dataType) && !isPrinted, dimensions };
}
