import { is, SQL, sql } from "drizzle-orm";
import { makePgArray, type PgColumn } from "drizzle-orm/pg-core";
import { OptionsError } from "../errors.ts";

/** A column's value as it travels inside the document: what the column's driver encoding makes of it, as text. */
export function columnText(field: string, column: PgColumn, value: unknown): unknown {
  if (value === null) return null;
  if (is(value, SQL)) return encodedText(field, column, value);
  const { columnType, baseColumn } = column as PgColumn & { baseColumn?: PgColumn };
  // Drizzle 1.0 leaves it to the driver.
  if (isJson(columnType)) return dimensionsOf(column) > 0 ? jsonArray(value) : JSON.stringify(value);
  if (baseColumn && isJson(baseColumn.columnType)) return jsonArray(value);
  return encodedText(field, column, value);
}

function isJson(columnType: string): boolean {
  return columnType === "PgJson" || columnType === "PgJsonb";
}

function jsonArray(value: unknown): string {
  return makePgArray((value as unknown[]).map((item) => JSON.stringify(item)));
}

function encodedText(field: string, column: PgColumn, value: unknown): unknown {
  // The compiler checked the value where the column's type was known.
  const encoded = column.mapToDriverValue(value as never) as unknown;
  if (is(encoded, SQL)) throw new OptionsError(field, value, "a value that is not SQL; enqueue such tasks one by one");
  if (encoded instanceof Uint8Array) {
    return `\\x${Array.from(encoded, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  }
  // Drizzle 0.45 has made this of it already.
  if (Array.isArray(encoded) && dimensionsOf(column) > 0) return makePgArray(encoded);
  // JSON has no big, infinite or undefined numbers.
  return typeof encoded === "bigint" || typeof encoded === "number" ? String(encoded) : encoded;
}

/**
 * The type that a column's text is read as. A cast to a type with a length would cut the text short, where an insert
 * refuses it; and a serial is no type.
 */
export function columnType(column: PgColumn): SQL {
  const [, type = "", dimensions = ""] = /^(.*?)((?:\[\d*\])*)$/.exec(column.getSQLType()) ?? [];
  let element = column as PgColumn & { baseColumn?: PgColumn; enum?: { schema?: string; enumName?: string } };
  while (element.baseColumn) element = element.baseColumn;
  return sql`${enumName(element.enum) ?? sql.raw(unbounded(type))}${sql.raw(dimensions || "[]".repeat(dimensionsOf(column)))}`;
}

/** Drizzle 1.0 keeps the dimensions of an array apart from its type; to 0.45 they are the size of a vector. */
function dimensionsOf({
  columnType,
  dimensions = 0,
  length,
}: PgColumn & { dimensions?: number; length?: number }): number {
  return /Vector$/.test(columnType) && length === undefined ? 0 : dimensions;
}

function enumName({ schema, enumName }: { schema?: string; enumName?: string } = {}): SQL | undefined {
  if (!enumName) return undefined;
  return schema ? sql`${sql.identifier(schema)}.${sql.identifier(enumName)}` : sql`${sql.identifier(enumName)}`;
}

function unbounded(type: string): string {
  if (/^((var)?char|character)\b/i.test(type)) return "text";
  if (/^bit\b/i.test(type)) return "bit varying";
  return { smallserial: "smallint", serial: "integer", bigserial: "bigint" }[type] ?? type;
}
