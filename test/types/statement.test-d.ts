import { eq } from "drizzle-orm";
import {
  type Claimed,
  newClaimToken,
  type QueueState,
  type QueueStats,
  type Statement,
  type TaskStatus,
} from "pgqueue";
import { describe, expectTypeOf, test } from "vitest";
import { db, held, orders, plain, receipt, shop, tasks } from "./shop.ts";

describe("a statement is a Drizzle builder", () => {
  test("that has toSQL and getSQL", () => {
    const claim = plain.claim(db, receipt, { limit: 1 });
    expectTypeOf(claim.toSQL()).toEqualTypeOf<{ sql: string; params: unknown[] }>();
    expectTypeOf(claim).toEqualTypeOf<Statement<Claimed<{ orderId: number; to: string }, {}>>>();
  });

  test("that is awaited, and has what a promise has", () => {
    expectTypeOf(plain.stats(db)).resolves.toEqualTypeOf<QueueStats[]>();
    plain.pauseQueue(db, receipt).then((rows) => expectTypeOf(rows).toEqualTypeOf<QueueState[]>());
    plain.reap(db, receipt).catch(() => []);
    expectTypeOf(Promise.all([plain.reap(db, receipt)])).resolves.toEqualTypeOf<
      [{ id: number; status: TaskStatus }[]]
    >();
  });

  test("that is a CTE of the user's own query, with typed columns", async () => {
    const claimed = db.$with("claimed").as(shop.claim(db, receipt, { limit: 1 }));
    const [row] = await db
      .with(claimed)
      .select({
        id: claimed.id,
        payload: claimed.payload,
        token: claimed.token,
        tenant: claimed.columns.tenantId,
        order: claimed.columns.orderId,
        to: orders.to,
      })
      .from(claimed)
      .innerJoin(orders, eq(orders.id, claimed.columns.orderId));
    expectTypeOf(row!.id).toEqualTypeOf<number>();
    expectTypeOf(row!.payload).toEqualTypeOf<{ orderId: number; to: string }>();
    expectTypeOf(row!.token).toExtend<string>();
    expectTypeOf(row!.tenant).toEqualTypeOf<string>();
    expectTypeOf(row!.order).toEqualTypeOf<number | null>();
    expectTypeOf(row!.to).toEqualTypeOf<string>();
    // @ts-expect-error no such column
    claimed.columns.nope;
    // @ts-expect-error no such field
    claimed.nope;
  });

  test("that is joined by the user's tables and by the task table itself", async () => {
    const listed = db.$with("listed").as(shop.listTasks(db, { where: eq(tasks.tenantId, "t") }));
    const [row] = await db
      .with(listed)
      .select({ to: orders.to, status: listed.status, at: listed.runAt, tenant: tasks.tenantId })
      .from(orders)
      .leftJoin(listed, eq(listed.columns.orderId, orders.id))
      .innerJoin(tasks, eq(tasks.id, listed.id));
    expectTypeOf(row!.to).toEqualTypeOf<string>();
    expectTypeOf(row!.tenant).toEqualTypeOf<string>();
    expectTypeOf(row!.status).toExtend<TaskStatus | null>();
    expectTypeOf(row!.at).toExtend<Date | null>();
  });

  test("whichever it is", async () => {
    const ended = db.$with("ended").as(shop.finalize(db, receipt, []));
    const released = db.$with("released").as(shop.release(db, receipt, held));
    const returned = db.$with("returned").as(shop.releaseClaim(db, receipt, newClaimToken()));
    const extended = db.$with("extended").as(shop.extendLease(db, receipt, held));
    const started = db.$with("started").as(shop.markStarted(db, receipt, held));
    const reaped = db.$with("reaped").as(shop.reap(db, receipt));
    const [ends] = await db
      .with(ended, released, returned, extended, started, reaped)
      .select({
        ended: ended.id,
        released: released.id,
        returned: returned.id,
        until: extended.leaseUntil,
        started: started.id,
        status: reaped.status,
      })
      .from(ended)
      .crossJoin(released)
      .crossJoin(returned)
      .crossJoin(extended)
      .crossJoin(started)
      .crossJoin(reaped);
    expectTypeOf(ends!).toEqualTypeOf<{
      ended: number;
      released: number;
      returned: number;
      until: Date;
      started: number;
      status: TaskStatus;
    }>();

    const enabled = db.$with("enabled").as(shop.enable(db, 1));
    const paused = db.$with("paused").as(plain.pauseQueue(db, receipt));
    const purged = db
      .$with("purged")
      .as(plain.purge(db, { queue: receipt, status: "failed", olderThan: "1d", limit: 1 }));
    const counted = db.$with("counted").as(plain.stats(db));
    const [rows] = await db
      .with(enabled, paused, purged, counted)
      .select({
        tenant: enabled.columns.tenantId,
        errors: enabled.errors,
        queue: paused.queue,
        purged: purged.id,
        due: counted.due,
        oldest: counted.oldestDue,
      })
      .from(enabled)
      .crossJoin(paused)
      .crossJoin(purged)
      .crossJoin(counted);
    expectTypeOf(rows!.tenant).toEqualTypeOf<string>();
    expectTypeOf(rows!.queue).toEqualTypeOf<string>();
    expectTypeOf(rows!.purged).toEqualTypeOf<number>();
    expectTypeOf(rows!.due).toEqualTypeOf<number>();
    expectTypeOf(rows!.oldest).toEqualTypeOf<Date | null>();
    expectTypeOf(rows!.errors).toEqualTypeOf<
      { attempt: number; at: string; name: string; message: string; stack?: string }[] | null
    >();
  });

  test("unless it takes more than one statement", () => {
    // @ts-expect-error a promise is no builder
    db.$with("enqueued").as(shop.replacePayload(db, receipt, 1, { orderId: 1, to: "x" }));
    // @ts-expect-error a promise is no builder
    plain.upsertTicker(db, null!).toSQL();
  });
});
