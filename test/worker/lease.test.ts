import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LeaseExpiredError, TimeoutError } from "../../src/errors.ts";
import type { Claimed } from "../../src/queries/claimed.ts";
import { Lease } from "../../src/worker/lease.ts";
import { job } from "../queries/jobs.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const spec = job({ leaseDuration: "1m", finalizeBuffer: "10s" });
const task = { id: 7 } as Claimed;

function watched(sentAt = performance.now()): Lease {
  const lease = new Lease(spec, task, sentAt);
  lease.watch();
  return lease;
}

test("fires finalizeBuffer before the end", () => {
  const lease = watched();
  vi.advanceTimersByTime(49_999);
  expect(lease.signal.aborted).toBe(false);
  expect(lease.isUsable).toBe(true);
  vi.advanceTimersByTime(1);
  expect(lease.signal.aborted).toBe(true);
  expect(lease.isUsable).toBe(false);
  expect(lease.signal.reason).toBeInstanceOf(LeaseExpiredError);
  expect(lease.signal.reason).toMatchObject({ taskId: 7, queue: spec.queue });
});

test("counts from when the claim was sent, not from when its answer came", () => {
  const lease = watched(performance.now() - 30_000);
  vi.advanceTimersByTime(20_000);
  expect(lease.signal.aborted).toBe(true);
});

test("is of no use when the answer came too late", () => {
  expect(new Lease(spec, task, performance.now() - 50_000).isUsable).toBe(false);
});

test("an extension moves the moment, but never to an earlier one", () => {
  const lease = watched();
  vi.advanceTimersByTime(45_000);
  lease.extend(performance.now(), 120_000);
  lease.extend(performance.now(), 1_000);
  vi.advanceTimersByTime(109_999);
  expect(lease.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(lease.signal.aborted).toBe(true);
});

test("a lease of years does not fire at once", () => {
  const lease = new Lease(job({ leaseDuration: "5000d" }), task, performance.now());
  lease.watch();
  vi.advanceTimersByTime(86_400_000 * 4_000);
  expect(lease.signal.aborted).toBe(false);
  vi.advanceTimersByTime(86_400_000 * 1_000);
  expect(lease.signal.aborted).toBe(true);
});

test("the first reason stays", () => {
  const lease = watched();
  const reason = new TimeoutError("stop", 1);
  lease.abort(reason);
  vi.advanceTimersByTime(60_000);
  expect(lease.signal.reason).toBe(reason);
});

test("leaves no timer behind once released, not even when an extension is answered after that", () => {
  const lease = watched();
  lease.release();
  expect(vi.getTimerCount()).toBe(0);
  lease.extend(performance.now(), 60_000);
  expect(vi.getTimerCount()).toBe(0);
  expect(lease.endsAt).toBe(performance.now() + 60_000);
});
