import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { rowOf } from "../queries/jobs.ts";
import { until } from "../worker/observed.ts";
import { Fleet, type FleetOptions } from "./fleet.ts";
import { audit, createLedger } from "./ledger.ts";
import { pgqueue, type Work, workSpec } from "./work.ts";

vi.setConfig({ testTimeout: 60_000 });

let database: TestDatabase;
let fleet: Fleet;
let work: FleetOptions["work"];

beforeEach(async () => {
  database = await createDatabase({ migrated: true });
  await createLedger(database.client);
});
afterEach(async () => {
  await fleet.close();
  for (const [process, ended] of fleet.gone) {
    await database.client`insert into processes ${database.client({ process, ended })}`;
  }
  expect(await audit(database.client, { queue: work.queue, lost: fleet.lost })).toEqual([]);
  expect(fleet.complaints).toEqual([]);
  await database.end();
});

function fleetOf(options: Partial<FleetOptions["work"]> & { concurrency?: number } = {}) {
  const { concurrency = 10, ...rest } = options;
  work = { queue: "crash", ...rest };
  fleet = new Fleet({ url: database.url, work, concurrency });
  return workSpec(work);
}

const enqueue = (spec: ReturnType<typeof workSpec>, payload: Work, options = {}) =>
  pgqueue.enqueue(database.db, spec, payload, options);
const ended = (id: number, timeout = 40_000) =>
  until(async () => {
    const row = await rowOf(database.db, id);
    return row.status === "pending" || row.status === "running" ? undefined : row;
  }, timeout);
const effectsOf = async (id: number) => (await database.client`select run from effects where task = ${id}`).length;

describe("a process killed", () => {
  test("in the middle of a task: another has it after the lease, the attempt charged and the error telling why", async () => {
    const spec = fleetOf({ leaseDuration: 1_500 });
    const [first] = await fleet.startMany(1);
    const { id } = await enqueue(spec, { kind: "hangs once" });
    await until(() => fleet.count("run") === 1);
    const { leaseUntil } = await rowOf(database.db, id);
    await fleet.end(first!, "SIGKILL");
    await fleet.start();
    const row = await ended(id);
    expect(row).toMatchObject({ status: "completed", attempt: 2, claims: 2 });
    expect(row.errors).toEqual([
      expect.objectContaining({ attempt: 1, name: "LeaseExpiredError", message: expect.stringContaining("process-1") }),
    ]);
    const wait = row.finishedAt!.getTime() - leaseUntil!.getTime();
    expect(wait).toBeGreaterThanOrEqual(0);
    expect(wait).toBeLessThan(5_000);
  });

  test("between the handler's commit and the end of its task: it runs again", async () => {
    const spec = fleetOf({ leaseDuration: 2_000 });
    await fleet.startMany(1);
    const { id } = await enqueue(spec, { kind: "dies after commit" });
    await until(() => fleet.gone.size === 1);
    await fleet.start();
    expect(await ended(id)).toMatchObject({ status: "completed", attempt: 2 });
    expect(await effectsOf(id)).toBe(2);
  });

  test("after a commit that ended the task as well, by ctx.finalize: it does not run again", async () => {
    const spec = fleetOf({ leaseDuration: 2_000 });
    await fleet.startMany(1);
    const { id } = await enqueue(spec, { kind: "dies after finalize" });
    await until(() => fleet.gone.size === 1);
    await fleet.start();
    const other = await enqueue(spec, { kind: "ok" });
    await ended(other.id);
    // Beyond the lease that the dead process had.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await rowOf(database.db, id)).toMatchObject({ status: "completed", claims: 1, errors: null });
    expect(await effectsOf(id)).toBe(1);
    expect(fleet.count("run")).toBe(2);
  });
});

/** Keeps so many processes going, as a supervisor does, until `look` finds something. */
async function supervised<T>(processes: number, look: () => Promise<T>, timeout: number): Promise<NonNullable<T>> {
  return until(async () => {
    while (fleet.size < processes) void fleet.start();
    return look();
  }, timeout);
}

describe("a task that kills its process each time", () => {
  test("is failed after maxRetries, each death recorded", async () => {
    const spec = fleetOf({ leaseDuration: 700, maxRetries: 2 });
    const { id } = await enqueue(spec, { kind: "poison" });
    const row = await supervised(1, () => ended(id, 1), 50_000);
    expect(row).toMatchObject({ status: "failed", attempt: 3 });
    expect(row.errors).toMatchObject([3, 2, 1].map((attempt) => ({ attempt, name: "LeaseExpiredError" })));
    expect(fleet.gone.size).toBe(3);
  });

  test("takes none of its forty-nine neighbours with it", async () => {
    const spec = fleetOf({ leaseDuration: 1_200, maxRetries: 2, concurrency: 50, retryDelay: 20 });
    const enqueued = await pgqueue.enqueueMany(
      database.db,
      spec,
      Array.from({ length: 50 }, (_, i) => ({ payload: { kind: i === 23 ? "poison" : "ok", takes: 50 } as Work })),
    );
    const left = async () => {
      const [row] = await database.client`
        select count(*)::int as left from pgqueue_tasks where status in ('pending', 'running')`;
      return row!.left === 0;
    };
    await supervised(1, left, 50_000);
    const rows = await Promise.all(enqueued.map(({ id }) => rowOf(database.db, id)));
    expect(rows.filter(({ status }) => status === "failed").map(({ id }) => id)).toEqual([enqueued[23]!.id]);
    expect(rows.filter(({ status }) => status === "completed")).toHaveLength(49);
    expect(rows[23]!.errors!.map(({ name }) => name)).toEqual(Array(3).fill("LeaseExpiredError"));
  });
});

test("a rolling restart with SIGTERM under load charges nobody and loses nothing", async () => {
  const spec = fleetOf({ leaseDuration: 10_000 });
  await pgqueue.enqueueMany(
    database.db,
    spec,
    Array.from({ length: 600 }, (_, i) => ({
      payload: { kind: i % 4 ? "ok" : "transactional", takes: i % 40 } as Work,
    })),
  );
  const old = await fleet.startMany(2);
  for (const member of old) {
    await fleet.start();
    await fleet.end(member, "SIGTERM");
    expect(await member.process.exited).toEqual({ code: 0, signal: null });
  }
  await until(async () => {
    const [row] = await database.client`select count(*)::int as done from pgqueue_tasks where status = 'completed'`;
    return row!.done === 600;
  });
  const [row] = await database.client`
    select max(attempt)::int as attempt, count(errors)::int as errors, (select count(*)::int from runs) as runs from pgqueue_tasks`;
  expect(row).toEqual({ attempt: 1, errors: 0, runs: 600 });
  expect(fleet.count("abandoned") + fleet.count("lost") + fleet.count("unknown") + fleet.count("error")).toBe(0);
});
