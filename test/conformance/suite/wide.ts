import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  date,
  doublePrecision,
  integer,
  jsonb,
  numeric,
  pgEnum,
  text,
  timestamp,
  uniqueIndex,
  uuid,
  varchar,
} from "drizzle-orm/pg-core";
import { createPgqueue, pgqueueTables } from "pgqueue";
import { create } from "./creation.ts";
import type { Database } from "./driver.ts";
import { rowsOf } from "./rows.ts";

const mood = pgEnum("conformance_mood", ["glad", "so so", "it's {bad}"]);

/** A task table with columns of the user's own, of many types. */
const { tasks: wideTasks, queues: wideQueues } = pgqueueTables({
  prefix: "wide_",
  columns: {
    tenant: uuid("tenant").notNull(),
    label: text("label").notNull().default("none"),
    origin: text("origin").$defaultFn(() => "by a function"),
    count: integer("count"),
    big: bigint("big", { mode: "number" }),
    huge: bigint("huge", { mode: "bigint" }),
    price: numeric("price", { precision: 12, scale: 4 }),
    ratio: doublePrecision("ratio"),
    active: boolean("active"),
    at: timestamp("at", { withTimezone: true }),
    local: timestamp("local", { mode: "string" }),
    day: date("day"),
    document: jsonb("document"),
    mood: mood("mood"),
    code: varchar("code", { length: 8 }).unique("wide_code"),
  },
  extraConfig: (table) => [uniqueIndex("wide_by_count").on(table.tenant, table.count)],
});

export const wide = createPgqueue({ tasks: wideTasks, queues: wideQueues });

export { wideTasks };

export async function createWide(db: Database): Promise<void> {
  const [row] = await rowsOf(db, sql`select to_regclass('wide_tasks') is null as missing`);
  if (row?.missing) await create(db, { mood, wideTasks, wideQueues });
}
