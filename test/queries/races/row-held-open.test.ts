import { afterAll, expect, test } from "vitest";
import { done, fail } from "../../../src/index.ts";
import { createDatabase } from "../../postgres/database.ts";
import { claimNew, expire, job, pgqueue, rowOf } from "../jobs.ts";
import { begin, blocked, impatient } from "../transactions.ts";
import { extendNaively } from "./naive.ts";

// A handler sits in its own long transaction, which holds its task's row, while the worker goes on with its siblings.

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);

test("its siblings are extended, settled, released and reaped at once", async () => {
  const spec = job();
  const claimed = await claimNew(db, spec, 20);
  const [own, settled, failed, released, late, ...rest] = claimed;
  const handler = await begin(db);
  await pgqueue.finalizeOrThrow(handler.tx, spec, { task: own!, result: done("mine") });

  const ids = (rows: { id: number }[]) => rows.map(({ id }) => id).sort((a, b) => a - b);
  const siblings = ids(claimed.slice(1));
  expect(ids(await pgqueue.extendLease(db, spec, claimed))).toEqual(siblings);
  expect(ids(await pgqueue.markStarted(db, spec, claimed))).toEqual(siblings);
  const outcomes = [
    { task: own!, result: fail("not mine") },
    { task: settled!, result: done() },
    { task: failed!, result: fail("x") },
  ];
  expect(ids(await pgqueue.finalize(db, spec, outcomes))).toEqual([settled!.id, failed!.id]);
  expect(ids(await pgqueue.release(db, spec, [own!, released!]))).toEqual([released!.id]);
  await expire(db, late!.id);
  expect(ids(await pgqueue.reap(db, spec))).toEqual([late!.id]);
  expect(ids(await pgqueue.releaseClaim(db, spec, own!.token))).toEqual(ids(rest));
  expect(await pgqueue.claim(db, spec, { limit: 100 })).toHaveLength(rest.length + 1);
  expect(await pgqueue.heldBy(db, spec, [own!])).toMatchObject([{ id: own!.id, holding: "busy" }]);

  await handler.commit();
  expect(await rowOf(db, own!.id)).toMatchObject({ status: "completed", output: "mine", errors: null });
  expect(await pgqueue.heldBy(db, spec, [own!])).toMatchObject([{ id: own!.id, holding: "lost" }]);
});

test("an expired lease whose row is held open is not reaped, and not waited for", async () => {
  const spec = job();
  const [own, late] = await claimNew(db, spec, 2);
  await expire(db, own!.id, late!.id);
  const handler = await begin(db);
  await pgqueue.finalizeOrThrow(handler.tx, spec, { task: own!, result: done() });
  expect(await pgqueue.reap(db, spec)).toMatchObject([{ id: late!.id }]);
  await handler.commit();
  expect((await rowOf(db, own!.id)).status).toBe("completed");
});

test("written naively, the extension of the siblings waits for the handler", async () => {
  const spec = job();
  const claimed = await claimNew(db, spec, 3);
  const handler = await begin(db);
  await pgqueue.finalizeOrThrow(handler.tx, spec, { task: claimed[1]!, result: done() });
  const extended = extendNaively(client, claimed).then((rows) => rows.length);
  await blocked(database);
  await handler.commit();
  expect(await extended).toBe(2);
});
