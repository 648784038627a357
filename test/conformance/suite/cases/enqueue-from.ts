import assert from "node:assert/strict";
import { asc, eq, sql } from "drizzle-orm";
import { integer, jsonb, numeric, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import type { Case } from "../case.ts";
import type { Database } from "../driver.ts";
import { job, pgqueue, rowOf } from "../shop.ts";

const { enqueue, enqueueFrom } = pgqueue;

const orders = pgTable("from_orders", {
  id: integer("id").primaryKey(),
  name: text("name").notNull(),
  price: numeric("price", { precision: 10, scale: 2 }).notNull(),
  shipAt: timestamp("ship_at", { withTimezone: true }),
  details: jsonb("details"),
  tags: text("tags").array().notNull(),
  prices: numeric("prices").array().notNull(),
});
const arrays = { tags: ["x", "y z"], prices: ["1.50"] };
const at = new Date("2031-05-06T07:08:09.012Z");

async function place(db: Database): Promise<void> {
  await db.execute(sql`create table if not exists from_orders (id int primary key, name text not null,
    price numeric(10, 2) not null, ship_at timestamptz, details jsonb, tags text[] not null default '{x,"y z"}',
    prices numeric[] not null default '{1.50}')`);
  await db.execute(sql`delete from from_orders`);
  await db.execute(sql`insert into from_orders (id, name, price, ship_at, details) values (1, 'a', 9.5, null, '{"a":[1,null,"{}"]}'),
    (2, 'b', 10, ${at.toISOString()}::text::timestamptz, null), (3, 'a', 0, null, '"text"')`);
}

export const enqueueFromCases: readonly Case[] = [
  {
    name: "enqueueFrom makes a task of each row of a select, exactly",
    async run({ db }) {
      await place(db);
      const made = await enqueueFrom(
        db,
        job(),
        db
          .select({
            payload: {
              id: orders.id,
              price: orders.price,
              details: orders.details,
              tags: orders.tags,
              prices: orders.prices,
              constant: sql<string>`${"it's"}::text`,
            },
            runAt: orders.shipAt,
            priority: sql<number | null>`case ${orders.id} when 2 then ${7}::int end`,
            meta: { name: orders.name },
          })
          .from(orders)
          .orderBy(asc(orders.id)),
      );
      const rows = await Promise.all(made.map(({ id }) => rowOf(db, id)));
      assert.deepEqual(
        rows.map(({ payload, priority, meta }) => [payload, priority, meta]),
        [
          [{ id: 1, price: "9.50", details: { a: [1, null, "{}"] }, ...arrays, constant: "it's" }, 0, { name: "a" }],
          [{ id: 2, price: "10.00", details: null, ...arrays, constant: "it's" }, 7, { name: "b" }],
          [{ id: 3, price: "0.00", details: "text", ...arrays, constant: "it's" }, 0, { name: "a" }],
        ],
      );
      assert.deepEqual(rows[1]!.runAt, at);
      assert.deepEqual(rows[0]!.runAt, rows[0]!.createdAt);
    },
  },
  {
    name: "enqueueFrom leaves out rows whose hash is held, under both kinds of dedup",
    async run({ db }) {
      await place(db);
      for (const dedup of ["retained", "active"] as const) {
        const spec = job({ dedup });
        await enqueue(db, spec, "earlier", { hash: "b" });
        const select = db
          .select({ payload: { id: orders.id }, hash: orders.name })
          .from(orders)
          .orderBy(orders.id);
        const made = await enqueueFrom(db, spec, select);
        assert.equal(made.length, 1);
        const { payload, hash, hashHeld } = await rowOf(db, made[0]!.id);
        assert.deepEqual([payload, hash, hashHeld], [{ id: 1 }, "a", true]);
        assert.deepEqual(await enqueueFrom(db, spec, select), []);
      }
    },
  },
  {
    name: "enqueueFrom deletes rows and makes their tasks in one statement, or does neither",
    async run({ db }) {
      await place(db);
      const gone = db.$with("gone").as(db.delete(orders).where(eq(orders.name, "a")).returning({ id: orders.id }));
      const cleanUp = (priority: number) =>
        enqueueFrom(
          db,
          job(),
          db
            .with(gone)
            .select({ payload: { id: gone.id }, priority: sql<number>`${priority}::int` })
            .from(gone),
        );
      await assert.rejects(async () => cleanUp(10));
      assert.equal((await db.select().from(orders)).length, 3);
      assert.equal((await cleanUp(1)).length, 2);
      assert.equal((await db.select().from(orders)).length, 1);
    },
  },
  {
    name: "enqueueFrom is a CTE of your own query",
    async run({ db }) {
      await place(db);
      const raised = db
        .$with("raised")
        .as(
          db
            .update(orders)
            .set({ price: "99" })
            .where(eq(orders.id, 2))
            .returning({ id: orders.id, price: orders.price }),
        );
      const queued = db
        .$with("queued")
        .as(enqueueFrom(db, job(), db.select({ payload: { id: raised.id, price: raised.price } }).from(raised)));
      const rows = await db
        .with(raised, queued)
        .select({ taskId: queued.id, id: raised.id })
        .from(queued)
        .crossJoin(raised);
      assert.equal(rows.length, 1);
      assert.equal(rows[0]!.id, 2);
      assert.deepEqual((await rowOf(db, rows[0]!.taskId)).payload, { id: 2, price: "99.00" });
    },
  },
];
