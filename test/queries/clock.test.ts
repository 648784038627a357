import { sql } from "drizzle-orm";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { done, retry } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, claimOne, job, pgqueue, ticker } from "./jobs.ts";

// The clock of the process is wrong; that of Postgres counts.

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
afterEach(() => {
  vi.useRealTimers();
});

const secondsFromNow = async (id: number, column: "run_at" | "lease_until") => {
  const [row] = await db.execute(sql`
    select extract(epoch from ${sql.identifier(column)} - statement_timestamp())::float8 as seconds
    from pgqueue_tasks where id = ${id}`);
  return row!.seconds as number;
};

test.each(["ahead", "behind"])("with a clock an hour %s nothing runs early, late or twice", async (which) => {
  const shift = which === "ahead" ? 3_600_000 : -3_600_000;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + shift });
  const spec = job({ leaseDuration: "1m", retryDelay: "10m" });

  const { id: delayed } = await pgqueue.enqueue(db, spec, 1, { delay: "30m" });
  const [many] = await pgqueue.enqueueMany(db, spec, [{ payload: 1, delay: "30m" }]);
  for (const id of [delayed, many!.id]) {
    expect(await secondsFromNow(id, "run_at")).toBeGreaterThan(1_700);
    expect(await secondsFromNow(id, "run_at")).toBeLessThanOrEqual(1_800);
  }

  const [task, other] = await claimNew(db, spec, 2);
  expect(await secondsFromNow(task!.id, "lease_until")).toBeGreaterThan(0);
  expect(await secondsFromNow(task!.id, "lease_until")).toBeLessThanOrEqual(60);
  expect(await pgqueue.reap(db, spec)).toEqual([]);
  await pgqueue.extendLease(db, spec, task!, "2m");
  expect(await secondsFromNow(task!.id, "lease_until")).toBeGreaterThan(60);
  expect(await secondsFromNow(task!.id, "lease_until")).toBeLessThanOrEqual(120);

  await pgqueue.finalize(db, spec, { task: task!, result: retry("x") });
  expect(await secondsFromNow(task!.id, "run_at")).toBeGreaterThan(500);
  expect(await secondsFromNow(task!.id, "run_at")).toBeLessThanOrEqual(600);
  await pgqueue.finalize(db, spec, { task: other!, result: done() });
  expect(await pgqueue.purge(db, { queue: spec, status: "completed", olderThan: "10m", limit: 1 })).toEqual([]);

  const clock = ticker({ every: "20m" });
  const { id } = await pgqueue.upsertTicker(db, clock);
  await pgqueue.finalize(db, clock, { task: await claimOne(db, clock), result: done() });
  expect(await secondsFromNow(id, "run_at")).toBeGreaterThan(1_100);
  expect(await secondsFromNow(id, "run_at")).toBeLessThanOrEqual(1_200);
});
