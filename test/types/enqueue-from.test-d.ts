import { eq, sql } from "drizzle-orm";
import { boolean, integer, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import { createPgqueue, defineJob, defineTicker, pgqueueTables, type Statement } from "pgqueue";
import * as v from "valibot";
import { describe, expectTypeOf, test } from "vitest";

const orders = pgTable("orders", {
  id: integer("id").primaryKey(),
  to: text("to").notNull(),
  note: text("note"),
  isPaid: boolean("is_paid").notNull(),
  shipAt: timestamp("ship_at", { withTimezone: true }),
  tenantId: uuid("tenant_id").notNull(),
  receipt: jsonb("receipt").$type<{ orderId: number; to: string }>().notNull(),
});
const db = drizzle({ client: null as never });
const plain = createPgqueue(pgqueueTables());
const shop = createPgqueue(pgqueueTables({ columns: { tenantId: uuid("tenant_id").notNull(), note: text("note") } }));
const receipt = defineJob({
  queue: "receipt",
  payload: v.object({ orderId: v.number(), to: v.string(), note: v.optional(v.string()) }),
});
const ticker = defineTicker({
  queue: "t",
  key: "k",
  every: 1,
  payload: v.object({ n: v.number() }),
  initialPayload: { n: 1 },
});
const payload = { orderId: orders.id, to: orders.to };

describe("enqueueFrom", () => {
  test("takes a select whose payload is the schema's input", () => {
    const statement = plain.enqueueFrom(
      db,
      receipt,
      db.select({ payload }).from(orders).where(eq(orders.isPaid, true)),
    );
    expectTypeOf(statement).toEqualTypeOf<Statement<{ id: number }>>();
    plain.enqueueFrom(db, receipt, db.select({ payload: orders.receipt }).from(orders));
    plain.enqueueFrom(
      db,
      receipt,
      db.select({ payload: sql<{ orderId: number; to: string }>`jsonb_build_object()` }).from(orders),
    );
    plain.enqueueFrom(
      db,
      receipt,
      db
        .select({
          payload: { ...payload, note: sql<string>`''` },
          runAt: orders.shipAt,
          priority: sql<number>`1`,
          maxRetries: orders.id,
          hash: orders.note,
          meta: { to: orders.to },
        })
        .from(orders),
    );
  });

  test("takes a union, a distinct and what a CTE returned", () => {
    const one = db.select({ payload }).from(orders);
    plain.enqueueFrom(db, receipt, one.union(db.select({ payload }).from(orders)));
    plain.enqueueFrom(db, receipt, db.selectDistinct({ payload }).from(orders));
    const placed = db.$with("placed").as(db.insert(orders).values(null!).returning());
    plain.enqueueFrom(
      db,
      receipt,
      db
        .with(placed)
        .select({ payload: { orderId: placed.id, to: placed.to } })
        .from(placed),
    );
  });

  test("refuses a wrong, missing or nullable member of the payload", () => {
    // @ts-expect-error orderId is a number
    plain.enqueueFrom(db, receipt, db.select({ payload: { orderId: orders.to, to: orders.to } }).from(orders));
    // @ts-expect-error `to` is missing
    plain.enqueueFrom(db, receipt, db.select({ payload: { orderId: orders.id } }).from(orders));
    // @ts-expect-error the schema's note may be left out, but is not null
    plain.enqueueFrom(db, receipt, db.select({ payload: { ...payload, note: orders.note } }).from(orders));
    // @ts-expect-error no payload
    plain.enqueueFrom(db, receipt, db.select({ orderId: orders.id }).from(orders));
    // @ts-expect-error no payload
    plain.enqueueFrom(db, receipt, db.select().from(orders));
  });

  test("refuses a wrong or unknown field beside it", () => {
    // @ts-expect-error a moment
    plain.enqueueFrom(db, receipt, db.select({ payload, runAt: orders.to }).from(orders));
    // @ts-expect-error milliseconds
    plain.enqueueFrom(db, receipt, db.select({ payload, delay: sql<string>`'5s'` }).from(orders));
    // @ts-expect-error text
    plain.enqueueFrom(db, receipt, db.select({ payload, hash: orders.id }).from(orders));
    // @ts-expect-error no such field
    plain.enqueueFrom(db, receipt, db.select({ payload, runat: orders.shipAt }).from(orders));
    // @ts-expect-error no columns of one's own
    plain.enqueueFrom(db, receipt, db.select({ payload, columns: { note: orders.note } }).from(orders));
  });

  test("asks for the columns that are required", () => {
    shop.enqueueFrom(db, receipt, db.select({ payload, columns: { tenantId: orders.tenantId } }).from(orders));
    shop.enqueueFrom(
      db,
      receipt,
      db.select({ payload, columns: { tenantId: orders.tenantId, note: orders.note } }).from(orders),
    );
    // @ts-expect-error columns are missing
    shop.enqueueFrom(db, receipt, db.select({ payload }).from(orders));
    // @ts-expect-error tenantId is missing
    shop.enqueueFrom(db, receipt, db.select({ payload, columns: { note: orders.note } }).from(orders));
    // @ts-expect-error tenantId is a text
    shop.enqueueFrom(db, receipt, db.select({ payload, columns: { tenantId: orders.id } }).from(orders));
  });

  test("takes a job and a select that is not sent", () => {
    // @ts-expect-error a ticker
    plain.enqueueFrom(db, ticker, db.select({ payload: { n: orders.id } }).from(orders));
    // @ts-expect-error rows
    plain.enqueueFrom(db, receipt, [{ payload: { orderId: 1, to: "" } }]);
    // @ts-expect-error SQL of no known fields
    plain.enqueueFrom(db, receipt, sql`select 1`);
  });
});
