import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { spawn } from "../processes/spawn.ts";
import { job, pgqueue, rowOf } from "../queries/jobs.ts";
import { until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

interface Report {
  kind: "ready" | "run" | "fault";
  payload: string;
  attempt: number;
  clock: number;
}

const hour = 3_600_000;

test.each([hour, -hour])("a worker whose clock is wrong by %i ms runs nothing early, late or twice", async (offset) => {
  const spec = job();
  const worker = await spawn(new URL("./clock-process.ts", import.meta.url), {
    env: { DATABASE_URL: database.url, QUEUE: spec.queue, CLOCK_OFFSET: String(offset) },
  });
  await worker.message<Report>(({ kind }) => kind === "ready");
  const enqueue = (payload: string, options = {}) => pgqueue.enqueue(database.db, spec, payload, options);
  const began = Date.now();
  const [now, delayed, flaky, long] = [
    await enqueue("now"),
    await enqueue("delayed", { delay: 800 }),
    await enqueue("flaky"),
    await enqueue("long"),
  ];
  const future = await enqueue("future", { runAt: new Date(Date.now() + hour / 2) });
  const all = [now, delayed, flaky, long];
  const ranAt = new Map<string, number>();
  const report = async () => {
    const { payload, attempt, clock } = await worker.message<Report>(({ kind }) => kind === "run");
    ranAt.set(`${payload} ${attempt}`, clock - offset - began);
  };
  for (let i = 0; i < 5; i++) await report();
  await until(async () =>
    (await Promise.all(all.map(({ id }) => rowOf(database.db, id)))).every(({ status }) => status === "completed"),
  );

  expect([...ranAt.keys()].sort()).toEqual(["delayed 1", "flaky 1", "flaky 2", "long 1", "now 1"]);
  for (const payload of ["now", "flaky", "long"]) expect(ranAt.get(`${payload} 1`)).toBeLessThan(5_000);
  expect(ranAt.get("delayed 1")).toBeGreaterThanOrEqual(800);
  expect(ranAt.get("delayed 1")).toBeLessThan(6_000);
  expect(ranAt.get("flaky 2")! - ranAt.get("flaky 1")!).toBeGreaterThanOrEqual(300);
  expect(await rowOf(database.db, future.id)).toMatchObject({ status: "pending", claims: 0 });
  for (const { id } of all) expect((await rowOf(database.db, id)).claims).toBeLessThanOrEqual(2);

  worker.send({ kind: "stop" });
  expect(await worker.exited).toEqual({ code: 0, signal: null });
  await expect(worker.message<Report>(({ kind }) => kind === "fault")).rejects.toThrow("exit code 0");
});
