import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Spec } from "../../src/tasks/spec.ts";
import { Claimer } from "../../src/worker/claimer.ts";
import { afterClosings } from "../../src/worker/turn.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresProxy } from "../postgres/proxy.ts";
import { job, pgqueue } from "../queries/jobs.ts";
import { begin } from "../queries/transactions.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

async function link() {
  const proxy = await PostgresProxy.create(inject("postgresUrl"));
  const client = postgres(proxy.url(database.name), {
    max: 1,
    fetch_types: false,
    onnotice: () => {},
    backoff: () => 0.02,
  });
  const statements: string[] = [];
  const db = drizzle(client, { logger: { logQuery: (query) => statements.push(query) } });
  await client`select 1`;
  return { proxy, db, statements, end: () => Promise.all([client.end({ timeout: 0 }), proxy.close()]) };
}

const open = new AbortController();
const claimerOf = (db: TestDatabase["db"], spec: Spec, sent = pgqueue) =>
  new Claimer(
    {
      db,
      pgqueue: sent,
      workerId: "w",
      closing: open.signal,
      closed: open.signal,
      nextTurn: afterClosings,
      report: () => {},
    },
    { spec, handler: () => {} },
  );

const states = async ({ queue }: Spec) => {
  const rows = await database.client`
    select status, attempt, claims, count(*)::int from pgqueue_tasks where queue = ${queue} group by 1, 2, 3 order by 1, 2, 3`;
  return rows.map(({ status, attempt, claims, count }) => `${count} ${status}, attempt ${attempt}, claims ${claims}`);
};

const isAnswer = (count: number) => (reply: Buffer) => reply.includes(`UPDATE ${count}\0`);

test("what a claim took whose answer was cut off is given back before the next claim, uncharged", async () => {
  const spec = job();
  await pgqueue.enqueueMany(database.db, spec, items(20));
  const { proxy, db, end } = await link();
  const claimer = claimerOf(db, spec);
  proxy.dropReplies(isAnswer(20), { times: 1 });
  await expect(claimer.claim(20)).rejects.toThrow();
  expect(await states(spec)).toEqual(["20 running, attempt 1, claims 1"]);

  const { tasks, sentAt } = await claimer.claim(20);
  expect(sentAt).toBeLessThanOrEqual(performance.now());
  expect(tasks).toHaveLength(20);
  expect(await states(spec)).toEqual(["20 running, attempt 1, claims 2"]);
  await end();
});

test("recover gives back what was claimed unknown, and leaves what is at work alone", async () => {
  const spec = job();
  await pgqueue.enqueueMany(database.db, spec, items(5));
  const { proxy, db, end } = await link();
  const claimer = claimerOf(db, spec);
  const known = await claimer.claim(2);
  proxy.dropReplies(isAnswer(3), { times: 1 });
  await expect(claimer.claim(3)).rejects.toThrow();
  await claimer.recover();
  expect(await states(spec)).toEqual(["3 pending, attempt 0, claims 1", "2 running, attempt 1, claims 1"]);
  expect(known.tasks).toHaveLength(2);
  await end();
});

test("what is given back late, behind which claims went on, is claimed next", async () => {
  const spec = job();
  const ids = (await pgqueue.enqueueMany(database.db, spec, items(30))).map(({ id }) => id);
  const { tx, commit } = await begin(database.db);
  let calls = 0;
  // The connection breaks while the server is at work on the first claim, which commits all the same.
  const claim: typeof pgqueue.claim = (db, ...rest) =>
    calls++ > 0 ? pgqueue.claim(db, ...rest) : (cut(pgqueue.claim(tx, ...rest)) as never);
  const claimer = claimerOf(database.db, spec, { ...pgqueue, claim });
  await expect(claimer.claim(10)).rejects.toThrow();
  const claimed = async () => (await claimer.claim(10)).tasks.map(({ id }) => id).sort((a, b) => a - b);
  expect(await claimed()).toEqual(ids.slice(10, 20));
  await commit();
  await claimer.recover();
  expect(await claimed()).toEqual(ids.slice(0, 10));
});

const cut = async (claim: PromiseLike<unknown>) => {
  await claim;
  throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
};

test("once they are given back, claims go on at full speed: nothing more is sent with each", async () => {
  const spec = job();
  await pgqueue.enqueueMany(database.db, spec, items(8));
  const { proxy, db, statements, end } = await link();
  const claimer = claimerOf(db, spec);
  proxy.dropReplies(isAnswer(1), { times: 1 });
  await expect(claimer.claim(1)).rejects.toThrow();
  await claimer.claim(1);
  statements.length = 0;
  for (let i = 0; i < 5; i++) await claimer.claim(1);
  expect(statements).toHaveLength(5);
  // The server may have been still at work on the claim: the reaper's rounds look again until its lease is over.
  await claimer.recover();
  expect(statements).toHaveLength(6);
  await end();
});

test("a claim that never reached a server leaves nothing to give back", async () => {
  const spec = job();
  const { proxy, db, statements, end } = await link();
  await proxy.close();
  const claimer = claimerOf(db, spec);
  await expect(claimer.claim(1)).rejects.toThrow();
  for (let i = 0; i < 3; i++) await expect(claimer.claim(1)).rejects.toThrow();
  statements.length = 0;
  await claimer.recover().catch(() => {});
  // At most the connection that was open when it broke.
  expect(statements.length).toBeLessThanOrEqual(1);
  await end();
});

test("a worker whose claim was cut off runs every task, each once", async () => {
  const spec = job({ pollInterval: 50 });
  await pgqueue.enqueueMany(database.db, spec, items(20));
  const { proxy, db, end } = await link();
  const ran: number[] = [];
  proxy.dropReplies(isAnswer(10), { times: 2 });
  const observed = await observe(db, { tolerate: ["error", "unknown"], listen: false })
    .on(spec, ({ payload }) => void ran.push(payload))
    .start();
  await until(() => ran.length >= 20);
  await observed.worker.stop();
  expect(ran.sort((a, b) => a - b)).toEqual(items(20).map(({ payload }) => payload));
  expect((await states(spec)).every((state) => state.includes("completed, attempt 1"))).toBe(true);
  await end();
});

test("claims are prepared once they find little, and not while there is more", async () => {
  const spec = job();
  const client = postgres(database.url, { max: 1 });
  const kept = async () =>
    (
      await client`select calls.n from (select sum(generic_plans + custom_plans)::int as n from pg_prepared_statements
      where statement like 'with "gate"%') as calls`
    )[0]!.n;
  const claimer = claimerOf(drizzle(client), spec);
  const claim = async (limit: number) => (await claimer.claim(limit)).tasks.length;
  await pgqueue.enqueueMany(database.db, spec, items(5));
  expect([await claim(2), await claim(2), await claim(2), await kept()]).toEqual([2, 2, 1, null]);
  expect([await claim(2), await claim(2), await kept()]).toEqual([0, 0, 2]);
  await pgqueue.enqueueMany(database.db, spec, items(5));
  expect([await claim(2), await claim(2), await claim(2), await kept()]).toEqual([2, 2, 1, 3]);
  await client.end();
});

test("a claim that takes too long is sent again for fewer, until it is done", async () => {
  const own = await createDatabase({ migrated: true });
  await own.client.unsafe(`
    create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.005); return new; end $$;
    create trigger be_slow before update on pgqueue_tasks for each row execute function be_slow();
    alter database ${own.name} set statement_timeout = '100ms'`);
  const spec = job();
  await pgqueue.enqueueMany(own.db, spec, items(60));
  const client = postgres(own.url, { max: 1 });
  const claimer = claimerOf(drizzle(client), spec);
  let failures = 0;
  let claimed = 0;
  while (claimed < 60) {
    await claimer.claim(1_000).then(
      ({ tasks }) => {
        claimed += tasks.length;
      },
      () => {
        failures++;
      },
    );
    expect(failures).toBeLessThan(20);
  }
  expect(failures).toBeGreaterThan(1);
  await client.end();
  await own.end();
});

test("the first claims are small, and grow while they are filled: nothing is known yet of the payloads", async () => {
  const spec = job();
  await pgqueue.enqueueMany(database.db, spec, items(800));
  const claimer = claimerOf(database.db, spec);
  const claim = async () => (await claimer.claim(1_000)).tasks.length;
  expect([await claim(), await claim(), await claim()]).toEqual([100, 200, 400]);
});
