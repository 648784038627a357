import { type SQL, sql } from "drizzle-orm";

/**
 * The only clock. Never `now()`: inside a transaction that is its start, so that a lease given there is born expired and a
 * delay is short.
 */
export const statementTime: SQL<Date> = sql<Date>`statement_timestamp()`;

export function after(milliseconds: number): SQL {
  return sql`statement_timestamp() + ${milliseconds}::float8 * interval '1 millisecond'`;
}

/** ISO 8601 in UTC, as `JSON.stringify` writes a Date. */
export function isoText(moment: SQL): SQL {
  return sql`to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** A Date as a parameter: as text, which binds the same on every driver. */
export function moment(date: Date): SQL {
  return sql`${date.toISOString()}::text::timestamptz`;
}
