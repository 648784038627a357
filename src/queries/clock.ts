import { type SQL, sql } from "drizzle-orm";

let momentInTest: () => Date | undefined = () => undefined;

/** Lets tests say what time it is: statements that are made while `source` answers a moment take it as theirs. */
export function setTimeSource(source: () => Date | undefined): void {
  momentInTest = source;
}

/** Whether tests say what time it is, just now. */
export function isTimeGiven(): boolean {
  return momentInTest() !== undefined;
}

/**
 * The only clock, at the moment of the statement. Never `now()`: inside a transaction that is its start, so that a lease
 * given there is born expired and a delay is short.
 */
export function statementTime(): SQL<Date> {
  const inTest = momentInTest();
  return inTest ? moment(inTest) : sql<Date>`statement_timestamp()`;
}

export function after(milliseconds: number | SQL): SQL {
  return sql`${statementTime()} + ${milliseconds}::float8 * interval '1 millisecond'`;
}

/** ISO 8601 in UTC, as `JSON.stringify` writes a Date. */
export function isoText(moment: SQL): SQL {
  return sql`to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** A Date as a parameter: as text, which binds the same on every driver. */
export function moment(date: Date): SQL<Date> {
  return sql<Date>`${date.toISOString()}::text::timestamptz`;
}
