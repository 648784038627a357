import { eq } from "drizzle-orm";
import {
  type Claim,
  type Claimed,
  type ClaimOptions,
  type ClaimToken,
  done,
  newClaimToken,
  type Outcome,
  parsePayload,
  retry,
  type Task,
} from "pgqueue";
import { assertType, describe, expectTypeOf, test } from "vitest";
import {
  db,
  held,
  moment,
  orders,
  payload,
  plain,
  receipt,
  type ShopColumns,
  shop,
  tasks,
  tenantTicker,
} from "./shop.ts";

describe("claim", () => {
  test("gives payloads as stored, and the user's columns", async () => {
    const [plainly] = await plain.claim(db, receipt, { limit: 1 });
    expectTypeOf(plainly!).toEqualTypeOf<Claimed<{ orderId: number; to: string }, {}>>();
    const [task] = await shop.claim(db, moment, { limit: 1 });
    expectTypeOf(task!).toEqualTypeOf<Claimed<{ at: string; n?: number | undefined }, ShopColumns>>();
    expectTypeOf(parsePayload(moment, task!)).toEqualTypeOf<{ at: Date; n: number }>();
    const [tick] = await shop.claim(db, tenantTicker, { limit: 1 });
    expectTypeOf(tick!.payload).toEqualTypeOf<{ cursor: number }>();
    // @ts-expect-error no such column
    task!.columns.nope;
    // @ts-expect-error no columns on the default tables
    plainly!.columns.tenantId;
  });

  test("takes typed options", () => {
    plain.claim(db, receipt, { limit: 1, token: newClaimToken(), workerId: "w", started: false, crashed: false });
    // @ts-expect-error options are required
    plain.claim(db, receipt);
    // @ts-expect-error limit is required
    plain.claim(db, receipt, {});
    // @ts-expect-error unknown option
    plain.claim(db, receipt, { limit: 1, lease: "5m" });
    // @ts-expect-error a queue is no spec
    plain.claim(db, "receipt", { limit: 1 });
    assertType<ClaimOptions>({ limit: 1, workerId: undefined, where: undefined, token: undefined });
  });

  test("takes a condition over the user's columns", () => {
    shop.claim(db, receipt, { limit: 1, where: eq(tasks.tenantId, "t") });
    shop.claim(db, receipt, { limit: 1, where: eq(tasks.orderId, orders.id) });
    // @ts-expect-error where is SQL
    shop.claim(db, receipt, { limit: 1, where: { tenantId: "t" } });
    // @ts-expect-error no text of it
    shop.claim(db, receipt, { limit: 1, where: "tenant_id = 't'" });
    // @ts-expect-error no such column
    shop.claim(db, receipt, { limit: 1, where: eq(tasks.nope, "t") });
    // @ts-expect-error tenantId is text
    shop.claim(db, receipt, { limit: 1, where: eq(tasks.tenantId, 1) });
  });

  test("takes tokens of newClaimToken alone", () => {
    expectTypeOf(newClaimToken()).toEqualTypeOf<ClaimToken>();
    expectTypeOf<ClaimToken>().toExtend<string>();
    // @ts-expect-error any text is no token
    plain.claim(db, receipt, { limit: 1, token: "x" });
    // @ts-expect-error nor is any uuid
    plain.claim(db, receipt, { limit: 1, token: crypto.randomUUID() });
    // @ts-expect-error nor is any text here
    plain.releaseClaim(db, receipt, "x");
  });
});

describe("the end of a claim", () => {
  test("takes one task or many", async () => {
    const claimed = await shop.claim(db, receipt, { limit: 10 });
    const ended = await shop.finalize(
      db,
      receipt,
      claimed.map((task) => ({ task, result: done() })),
    );
    expectTypeOf(ended).toEqualTypeOf<{ id: number }[]>();
    await shop.finalize(db, receipt, { task: held, result: retry(new Error()) });
    await shop.finalize(db, receipt, { task: held, result: done(), payload });
    expectTypeOf(await shop.finalizeOrThrow(db, receipt, { task: held, result: done() })).toEqualTypeOf<void>();
    expectTypeOf(await shop.release(db, receipt, claimed)).toEqualTypeOf<{ id: number }[]>();
    expectTypeOf(await shop.releaseClaim(db, receipt, newClaimToken())).toEqualTypeOf<{ id: number }[]>();
    expectTypeOf(await shop.markStarted(db, receipt, held)).toEqualTypeOf<{ id: number }[]>();
    expectTypeOf(await shop.extendLease(db, receipt, held, "10m")).toEqualTypeOf<{ id: number; leaseUntil: Date }[]>();
    assertType<Outcome<{ orderId: number; to: string }>>({ task: held, result: done() });
    assertType<Claim>(held);
  });

  test("takes claims alone", async () => {
    const row: typeof tasks.$inferSelect = null!;
    const stored: Task = null!;
    const forged = { id: 1, queue: "receipt", key: null, claims: 1, token: "x", payload };
    // @ts-expect-error made up
    plain.finalize(db, receipt, { task: { id: 1, token: "x", payload }, result: done() });
    // @ts-expect-error every field made up
    plain.finalize(db, receipt, { task: { ...held, token: "x" }, result: done() });
    // @ts-expect-error a row of the table is not a claim
    plain.finalize(db, receipt, { task: row, result: done() });
    // @ts-expect-error nor is a task that was read
    plain.finalize(db, receipt, { task: stored, result: done() });
    // @ts-expect-error nor is an id
    plain.release(db, receipt, 1);
    // @ts-expect-error nor is a claim with a token of one's own
    plain.release(db, receipt, forged);
    // @ts-expect-error the same
    plain.extendLease(db, receipt, forged);
    // @ts-expect-error the same
    plain.markStarted(db, receipt, forged);
    // @ts-expect-error the same
    plain.heldBy(db, receipt, [forged]);
    // @ts-expect-error a row of the table is not a claim
    plain.extendLease(db, receipt, row);
    // @ts-expect-error a claim does not change
    held.token = newClaimToken();
    // @ts-expect-error nor does its fence
    held.claims = 2;
  });

  test("takes the spec's own tasks", () => {
    const other: Claimed<{ at: string }> = null!;
    const own = { task: held, result: done() };
    // @ts-expect-error another spec's task
    plain.finalize(db, receipt, { task: other, result: done() });
    // @ts-expect-error another spec's task among one's own
    plain.finalize(db, receipt, [own, { task: other, result: done() }]);
    // @ts-expect-error another spec's task
    plain.finalizeOrThrow(db, receipt, { task: other, result: done() });
    // @ts-expect-error another spec's payload
    plain.finalize(db, receipt, { task: held, result: done(), payload: { at: "" } });
    // @ts-expect-error the output, where the input is stored
    plain.finalize(db, moment, { task: other, result: done(), payload: { at: new Date() } });
  });

  test("leaves the payload to the spec, whatever is wider", () => {
    const any: Claimed = null!;
    const less = { orderId: 1 };
    // @ts-expect-error a task of some spec
    plain.finalize(db, receipt, { task: any, result: done() });
    const own = { task: held, result: done() };
    // @ts-expect-error a task of some spec among one's own
    plain.finalize(db, receipt, [own, { task: any, result: done() }]);
    // @ts-expect-error a task of some spec
    plain.finalizeOrThrow(db, receipt, { task: any, result: done() });
    // @ts-expect-error a field is missing
    plain.finalize(db, receipt, { task: held, result: done(), payload: less });
  });

  test("takes a result", () => {
    // @ts-expect-error no such result
    plain.finalize(db, receipt, { task: held, result: { type: "ok" } });
    // @ts-expect-error the function itself
    plain.finalize(db, receipt, { task: held, result: done });
    // @ts-expect-error no result
    plain.finalize(db, receipt, { task: held });
    // @ts-expect-error bad duration
    plain.extendLease(db, receipt, held, "10 minutes");
  });
});
