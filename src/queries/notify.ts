import { type SQL, sql } from "drizzle-orm";
import type { DrizzleDb } from "./statement.ts";

/** The one channel of all queues; a notification's payload is the queue's name. */
export const channel = "pgqueue";

/** Announces due work in a queue. Postgres sends equal notifications of one transaction once. */
export function notify(queue: SQL): SQL {
  return sql`pg_notify(${sql.raw(`'${channel}'`)}, ${queue})`;
}

/**
 * A CTE `pgqueue_announced` with a row, and a notification unless that is switched off, for each row of `source`. The statement
 * has to read from it, since Postgres never runs a CTE that nothing refers to.
 */
export function announcement(handle: DrizzleDb, isOn: boolean, queue: SQL, source: SQL = sql``) {
  return handle
    .$with("pgqueue_announced", { sent: sql`sent` })
    .as(sql`select ${isOn ? notify(queue) : sql`null`} as sent ${source}`);
}
