import { afterEach, beforeEach, expect, inject, test, vi } from "vitest";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresProxy } from "../postgres/proxy.ts";
import { until } from "../worker/observed.ts";
import { Fleet } from "./fleet.ts";
import { audit, createLedger } from "./ledger.ts";
import { pgqueue, type Work, workSpec } from "./work.ts";

let database: TestDatabase;
let proxy: PostgresProxy;
let cutOff: Fleet;
let others: Fleet;
const work = { queue: "network", leaseDuration: 2_000, pollInterval: 100 };
const spec = workSpec(work);
const patience = 30_000;

vi.setConfig({ testTimeout: 60_000 });

beforeEach(async () => {
  database = await createDatabase({ migrated: true });
  await createLedger(database.client);
  proxy = await PostgresProxy.create(inject("postgresUrl"));
  cutOff = new Fleet({ url: proxy.url(database.name), work });
  others = new Fleet({ url: database.url, work });
});
afterEach(async () => {
  await Promise.all([cutOff.close(), others.close()]);
  expect(await audit(database.client, { queue: work.queue, lost: [...cutOff.lost, ...others.lost] })).toEqual([]);
  expect([...cutOff.complaints, ...others.complaints]).toEqual([]);
  await proxy.close();
  await database.end();
});

const enqueue = (count: number, takes = 0) =>
  pgqueue.enqueueMany(
    database.db,
    spec,
    Array.from({ length: count }, () => ({ payload: { kind: "ok", takes } as Work })),
  );
const completed = async () => {
  const [row] = await database.client`select count(*)::int as count from pgqueue_tasks where status = 'completed'`;
  return row!.count;
};

/** What only the worker's own updates answer: the ledger's carry one row each. */
const isUpdateOf = (least: number) => (reply: Buffer) =>
  Number(/UPDATE (\d+)\0/.exec(reply.toString("latin1"))?.[1] ?? 0) >= least;
/** A claim's rows come before it, a finalize's rows are short. */
const isClaim = (reply: Buffer) => isUpdateOf(2)(reply) && reply.length > 400;

test("cut after claims were committed: what nobody knows of is given back at once, uncharged, and runs", async () => {
  proxy.dropReplies(isClaim, { times: 3 });
  await enqueue(40);
  await cutOff.start();
  await until(async () => (await completed()) === 40, patience);
  const [row] = await database.client`
    select max(claims)::int as claims, max(attempt)::int as attempt, count(errors)::int as errors from pgqueue_tasks`;
  expect(row!.claims).toBeGreaterThan(1);
  expect(row).toMatchObject({ attempt: 1, errors: 0 });
});

test("cut after outcomes were committed: nothing is called lost, and nothing runs again", async () => {
  await cutOff.start();
  proxy.dropReplies((reply) => isUpdateOf(2)(reply) && !isClaim(reply), { times: 3 });
  await enqueue(100, 20);
  await until(async () => (await completed()) === 100, patience);
  await until(() => cutOff.count("settled") + cutOff.count("unknown") === 100);
  expect(cutOff.count("unknown")).toBeGreaterThan(0);
  expect(cutOff.count("lost")).toBe(0);
  const [row] = await database.client`select count(*)::int as runs, count(distinct task)::int as tasks from runs`;
  expect(row).toEqual({ runs: 100, tasks: 100 });
});

test("cut again and again: every task ends", async () => {
  await cutOff.start();
  await enqueue(300, 5);
  for (let i = 0; i < 15; i++) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    proxy.cut();
  }
  await until(async () => (await completed()) === 300, patience);
});

test("swallowed in silence: others take over after the lease; when the network is back, so is the worker", async () => {
  await cutOff.start();
  await enqueue(4, 600);
  await until(() => cutOff.count("run") === 4);
  proxy.blackhole();
  await others.start();
  await until(async () => (await completed()) === 4, patience);
  await enqueue(20);
  await until(async () => (await completed()) === 24);

  proxy.pass();
  proxy.cut();
  await others.close();
  await enqueue(20);
  await until(async () => (await completed()) === 44);
  expect(cutOff.members.size).toBe(1);
});
