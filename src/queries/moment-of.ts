import { type SQL, sql } from "drizzle-orm";

/**
 * A moment as Drizzle reads it: without a time zone it is in UTC, whatever the zone of the session. Which it is shows only
 * in the database, since an expression such as `max(orders.at)` does not tell its type; by its text, an untyped parameter is
 * a moment too.
 */
export function momentOf(value: SQL): SQL {
  return sql`case when pg_typeof(${value}) in ('timestamp'::regtype, 'date'::regtype)
    then (${value})::text::timestamp at time zone 'UTC' else (${value})::text::timestamptz end`;
}
