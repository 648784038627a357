import { sql } from "drizzle-orm";
import { drizzle as drizzlePg } from "drizzle-orm/node-postgres";
import { drizzle } from "drizzle-orm/postgres-js";
import pg from "pg";
import postgres from "postgres";
import { afterAll, expect, test, vi } from "vitest";
import { done, fail, newClaimToken } from "../../src/index.ts";
import { setTimeSource } from "../../src/queries/clock.ts";
import { createDatabase } from "../postgres/database.ts";
import { job, pgqueue, rowOf, ticker } from "./jobs.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);
const { claim, enqueueMany, finalize } = pgqueue;

/** How many texts of statements are made while `work` is done. */
async function textsMade(work: () => Promise<unknown>): Promise<number> {
  const { dialect } = db as unknown as { dialect: { sqlToQuery(query: unknown): unknown } };
  const spy = vi.spyOn(dialect, "sqlToQuery");
  await work();
  const made = spy.mock.calls.length;
  spy.mockRestore();
  return made;
}

const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

test("the text of a claim and of its end is made once for a spec", async () => {
  const spec = job();
  await enqueueMany(db, spec, items(6));
  const claimAndFinish = async (workerId: string, limit: number) => {
    const tasks = await claim(db, spec, { limit, workerId });
    const rows = await Promise.all(tasks.map(({ id }) => rowOf(db, id)));
    expect(rows.map(({ claimedBy }) => claimedBy)).toEqual(Array(limit).fill(workerId));
    await finalize(
      db,
      spec,
      tasks.map((task) => ({ task, result: done() })),
    );
  };
  await claimAndFinish("a", 1);
  const reads = await textsMade(async () => await rowOf(db, 1));
  expect(await textsMade(() => claimAndFinish("b", 2))).toBe(2 * reads);
  expect(await textsMade(() => claimAndFinish("c", 3))).toBe(3 * reads);
});

test("what differs from call to call is not kept: limit, token, place, what was done", async () => {
  const spec = job();
  await enqueueMany(db, spec, items(5));
  const [first] = await claim(db, spec, { limit: 1 });
  const token = newClaimToken();
  const others = await claim(db, spec, { limit: 2, token, after: [first!] });
  expect(others.map((task) => task.token)).toEqual([token, token]);
  expect(Math.min(...others.map(({ id }) => id))).toBe(first!.id + 1);
  const [last] = others.toSorted((a, b) => b.id - a.id);
  expect(await claim(db, spec, { limit: 9, after: [last!] })).toHaveLength(2);

  const [a, b] = others;
  expect(await finalize(db, spec, { task: a!, result: done({ n: 1 }) })).toEqual([{ id: a!.id }]);
  expect(await finalize(db, spec, { task: b!, result: fail("no") })).toEqual([{ id: b!.id }]);
  expect(await finalize(db, spec, { task: first!, result: done() })).toEqual([{ id: first!.id }]);
  const rows = await Promise.all([a!, b!, first!].map(({ id }) => rowOf(db, id)));
  expect(rows.map(({ status, output }) => [status, output])).toEqual([
    ["completed", { n: 1 }],
    ["failed", null],
    ["completed", null],
  ]);
});

test("a claim awaited twice hands out two tokens", async () => {
  const spec = job();
  await enqueueMany(db, spec, items(2));
  const statement = claim(db, spec, { limit: 1 });
  const [[a], [b]] = [await statement, await statement];
  expect(a!.id).not.toBe(b!.id);
  expect(a!.token).not.toBe(b!.token);
});

test("a condition of the user's own is never kept", async () => {
  const spec = job();
  await enqueueMany(db, spec, items(3));
  const taken = async (n: number) =>
    await claim(db, spec, { limit: 3, where: sql`payload = ${JSON.stringify(n)}::jsonb` });
  expect((await taken(2)).map(({ payload }) => payload)).toEqual([2]);
  expect((await taken(0)).map(({ payload }) => payload)).toEqual([0]);
});

test("a moment that a test gave is not kept", async () => {
  const spec = job();
  await enqueueMany(db, spec, items(1));
  const early = claim(db, spec, { limit: 1 });
  setTimeSource(() => new Date("2001-01-01T00:00:00Z"));
  try {
    expect(await early).toHaveLength(1);
  } finally {
    setTimeSource(() => undefined);
  }
  await enqueueMany(db, spec, items(1));
  const [task] = await claim(db, spec, { limit: 1 });
  expect((await rowOf(db, task!.id)).claimedAt!.getUTCFullYear()).toBeGreaterThan(2001);
});

test("each spec has its own: queue, lease, kind", async () => {
  const [one, two] = [job({ leaseDuration: "1m" }), job({ leaseDuration: "1h" })];
  for (const spec of [one, two]) {
    await enqueueMany(db, spec, items(1));
    const [task] = await claim(db, spec, { limit: 1 });
    const { leaseUntil, claimedAt } = await rowOf(db, task!.id);
    expect([task!.queue, leaseUntil!.getTime() - claimedAt!.getTime()]).toEqual([spec.queue, spec.leaseDuration]);
  }
});

/** What of pgqueue's is prepared on the connection that `run` used. */
async function preparedBy(options: object, run: (db: typeof database.db) => Promise<unknown>): Promise<string[]> {
  const client = postgres(database.url, { max: 1, ...options });
  await run(drizzle(client));
  const rows = await client<{ verb: string }[]>`
    select substring(statement from '^(insert|with "gate"|with "held"|with "holder")') as verb
    from pg_prepared_statements where statement ~ 'pgqueue_' and name <> '' and statement !~ 'pg_prepared' order by 1`;
  await client.end();
  return rows.map(({ verb }) => verb);
}

const eachOnce = (plan?: number) => async (db: typeof database.db) => {
  const spec = job({ hash: (payload) => payload?.hash });
  for (const payload of [1, 2, 3, { hash: "a" }, { hash: "b" }]) await pgqueue.enqueue(db, spec, payload);
  for (let n = 0; n < 3; n++) {
    const [task] = await claim(db, spec, { limit: 1, plan });
    await finalize(db, spec, { task: task!, result: done() });
  }
};

test("postgres-js prepares inserts, and a claim that asks for it; nothing else, and nothing where it must not", async () => {
  expect(await preparedBy({}, eachOnce())).toEqual(["insert"]);
  expect(await preparedBy({}, eachOnce(0))).toEqual(["insert", 'with "gate"']);
  expect(await preparedBy({ prepare: false }, eachOnce(0))).toEqual([]);
});

test("what postgres-js prepared is prepared anew where the connection has lost it, as behind a pooler", async () => {
  const spec = job();
  const client = postgres(database.url, { max: 1 });
  const own = drizzle(client);
  for (let n = 0; n < 3; n++) {
    await pgqueue.enqueue(own, spec, n);
    expect(await claim(own, spec, { limit: 2, plan: 3 })).toHaveLength(1);
    await client.unsafe("deallocate all");
  }
  await client.end();
});

test("node-postgres, which has no way to be told not to, prepares nothing", async () => {
  const spec = job();
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  const own = drizzlePg(pool);
  await pgqueue.enqueue(own, spec, 1);
  expect(await claim(own, spec, { limit: 1, plan: 0 })).toHaveLength(1);
  const { rows } = await pool.query("select statement from pg_prepared_statements where name <> ''");
  expect(rows).toEqual([]);
  await pool.end();
});

test("two specs share no plan, though their statements have one text: jobs of two queues, tickers of one", async () => {
  const client = postgres(database.url, { max: 1 });
  const own = drizzle(client);
  const queue = "two */ plans*";
  const keys = ["a/b", "a", "*", "*/", "/* x", "'$1\\"];
  const specs = [job({ queue }), job({ queue: "*/" }), ...keys.map((key) => ticker({ queue, key }))];
  for (const spec of specs) await claim(own, spec, { limit: 1, plan: 0 });
  const rows = await client`select statement from pg_prepared_statements where statement like 'with "gate"%'`;
  expect(rows).toHaveLength(specs.length);
  await client.end();
});
