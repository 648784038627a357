import { integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import { type Claimed, createPgqueue, defineJob, defineTicker, pgqueueTables } from "pgqueue";
import * as v from "valibot";
import { z } from "zod";

// What the type tests are about: tables without columns of the user's, with some of which one is required, and with one
// that is not.

export const orders = pgTable("orders", { id: integer("id").primaryKey(), to: text("to").notNull() });
export const { tasks, queues } = pgqueueTables({
  prefix: "shop_",
  columns: {
    tenantId: uuid("tenant_id").notNull(),
    orderId: integer("order_id").references(() => orders.id),
    note: text("note").default(""),
  },
});
export type ShopColumns = { tenantId: string; orderId: number | null; note: string | null };

export const plain = createPgqueue(pgqueueTables());
export const shop = createPgqueue({ tasks, queues });
export const maybe = createPgqueue(pgqueueTables({ prefix: "maybe_", columns: { note: text("note") } }));

export const db = drizzle({ client: null as never });

export const receipt = defineJob({ queue: "receipt", payload: v.object({ orderId: v.number(), to: v.string() }) });
export const payload = { orderId: 1, to: "x" };
export const held: Claimed<{ orderId: number; to: string }> = null!;

/** What is stored differs from what is handled. */
export const moment = defineJob({
  queue: "moment",
  payload: z.object({ at: z.string().transform((s) => new Date(s)), n: z.number().default(1) }),
});

export const cursor = {
  payload: v.object({ cursor: v.number() }),
  initialPayload: { cursor: 0 },
  every: "5m",
} as const;
export const ticker = defineTicker({ queue: "sync", key: "plain", ...cursor });
export const tenantTicker = defineTicker({ queue: "sync", key: "tenant", ...cursor, columns: { tenantId: "t" } });
