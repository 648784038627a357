import { drizzle } from "drizzle-orm/postgres-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Claimed, done, newClaimToken, retry } from "../../src/index.ts";
import { assertPlans } from "../../src/testing/index.ts";
import { type PostgresMajor, whyMissing } from "../postgres/binaries.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresServer } from "../postgres/server.ts";
import { claimAll, job, pgqueue, ticker } from "../queries/jobs.ts";
import { begin } from "../queries/transactions.ts";

// A statement has one sensible plan. Whatever the statistics say, or do not say, Postgres has to take that one.

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

const batch = 100;
const spec = job({ queue: "q", hash: (p) => p?.hash });
const keepsNothing = { ...spec, retain: { completed: 0, failed: 0 } };
const clock = ticker({ queue: "t" });

const scans = (node: PlanNode): PlanNode[] => [
  ...(node["Node Type"].endsWith("Scan") && (node["Relation Name"] || node["Index Name"]) ? [node] : []),
  ...(node.Plans ?? []).flatMap(scans),
];

/** Runs what is to be measured, and then each of its statements again to explain it, in a transaction that is undone. */
async function plansOf({ client, db }: TestDatabase, run: (handle: typeof db) => PromiseLike<unknown>) {
  const sent: [query: string, params: unknown[]][] = [];
  const first = await begin(drizzle(client, { logger: { logQuery: (...query) => sent.push(query) } }));
  sent.length = 0;
  await run(first.tx as never);
  const statements = sent.slice();
  await first.rollback();

  const plans: PlanNode[] = [];
  await client
    .begin(async (sql) => {
      for (const [query, params] of statements) {
        const [row] = await sql.unsafe(`explain (analyze, buffers off, format json) ${query}`, params as never[]);
        plans.push(row!["QUERY PLAN"][0].Plan);
      }
      await sql`rollback`;
    })
    .catch(() => {});
  return plans.flatMap(scans).map((scan) => ({
    type: scan["Node Type"],
    relation: scan["Relation Name"],
    index: scan["Index Name"],
    rows:
      scan["Node Type"] === "Bitmap Index Scan"
        ? 0
        : scan["Actual Loops"] *
          (scan["Actual Rows"] + (scan["Rows Removed by Filter"] ?? 0) + (scan["Rows Removed by Index Recheck"] ?? 0)),
  }));
}

interface Held {
  /** Claimed and not ended. */
  tasks: Claimed<any>[];
  token: Claimed["token"];
}

const outcomes = (tasks: Claimed<any>[]) =>
  tasks.map((task, i) => ({ task, result: i % 2 ? done(i) : retry("x"), payload: i }));
const completions = (tasks: Claimed<any>[]) => tasks.map((task) => ({ task, result: done() }));
const ofTwoClaims = (tasks: Claimed<any>[]) => {
  const token = newClaimToken();
  return tasks.map((task, i) => (i % 2 ? { ...task, token } : task));
};
const hashes = (from: number) => Array.from({ length: batch }, (_, i) => ({ payload: { hash: `h${from + i}` } }));

/** Each with the indexes it may read, and how many rows of them at the most. */
const cases: [
  name: string,
  run: (db: TestDatabase["db"], held: Held) => PromiseLike<unknown>,
  indexes: string[],
  rows: number,
][] = [
  ["claim", (db) => pgqueue.claim(db, spec, { limit: batch }), ["claim", "pkey"], 2 * batch],
  ["claim of a thousand", (db) => pgqueue.claim(db, spec, { limit: 1_000 }), ["claim", "pkey"], 2_000],
  [
    "claim after a task",
    (db) =>
      pgqueue.claim(db, spec, { limit: batch, after: [{ priority: 0, exactRunAt: "2020-01-01 00:00:00+00", id: 7 }] }),
    ["claim", "pkey"],
    2 * batch,
  ],
  ["claim of 500", (db) => pgqueue.claim(db, spec, { limit: 500 }), ["claim", "pkey"], 1_000],
  ["claim of one", (db) => pgqueue.claim(db, spec, { limit: 1 }), ["claim", "pkey"], 2],
  ["claim of a ticker", (db) => pgqueue.claim(db, clock, { limit: 1 }), ["claim", "key", "pkey"], 2 * 10],
  ["finalize", (db, { tasks }) => pgqueue.finalize(db, spec, outcomes(tasks)), ["pkey"], 2 * batch],
  ["finalize of completions", (db, { tasks }) => pgqueue.finalize(db, spec, completions(tasks)), ["pkey"], 2 * batch],
  [
    "finalize of completions of two claims",
    (db, { tasks }) => pgqueue.finalize(db, spec, completions(ofTwoClaims(tasks))),
    ["pkey"],
    2 * batch,
  ],
  [
    "finalize that deletes",
    (db, { tasks }) => pgqueue.finalize(db, keepsNothing, completions(tasks)),
    ["pkey"],
    2 * batch,
  ],
  [
    "finalize that deletes some",
    (db, { tasks }) => pgqueue.finalize(db, keepsNothing, outcomes(tasks)),
    ["pkey"],
    3 * batch,
  ],
  ["finalize of one", (db, { tasks }) => pgqueue.finalize(db, spec, outcomes(tasks.slice(0, 1))), ["pkey"], 2],
  ["finalizeOrThrow", (db, { tasks }) => pgqueue.finalizeOrThrow(db, spec, outcomes(tasks)[0]!), ["pkey"], 2],
  ["release", (db, { tasks }) => pgqueue.release(db, spec, tasks), ["pkey"], 2 * batch],
  ["release of two claims", (db, { tasks }) => pgqueue.release(db, spec, ofTwoClaims(tasks)), ["pkey"], 2 * batch],
  ["releaseClaim", (db, { token }) => pgqueue.releaseClaim(db, spec, token), ["lease", "pkey"], 3 * batch],
  ["extendLease", (db, { tasks }) => pgqueue.extendLease(db, spec, tasks), ["pkey"], 2 * batch],
  ["markStarted", (db, { tasks }) => pgqueue.markStarted(db, spec, tasks), ["pkey"], 2 * batch],
  ["heldBy", (db, { tasks }) => pgqueue.heldBy(db, spec, tasks), ["pkey"], batch],
  ["reap", (db) => pgqueue.reap(db, spec, { limit: batch }), ["lease", "pkey"], 2 * batch],
  [
    "purge",
    (db) => pgqueue.purge(db, { queue: spec, status: "completed", olderThan: "1h", limit: batch }),
    ["finished", "pkey"],
    2 * batch,
  ],
  ["enqueue of a new hash", (db) => pgqueue.enqueue(db, spec, 1, { hash: "new" }), ["hash"], 0],
  ["enqueue of a held hash", (db) => pgqueue.enqueue(db, spec, 1, { hash: "h5" }), ["hash"], 1],
  ["enqueueMany of new hashes", (db) => pgqueue.enqueueMany(db, spec, hashes(1_000_000)), ["hash"], 0],
  // Their holders are found twice: not to insert, and to be told of.
  ["enqueueMany of held hashes", (db) => pgqueue.enqueueMany(db, spec, hashes(1)), ["hash"], 2 * batch],
  ["upsertTicker", (db) => pgqueue.upsertTicker(db, clock), ["key"], 1],
  ["enable", (db) => pgqueue.enable(db, 1), ["pkey", "hash"], 3],
  ["disable", (db) => pgqueue.disable(db, 1), ["pkey"], 1],
  ["requeue", (db) => pgqueue.requeue(db, 1), ["pkey", "hash"], 3],
  ["getTask", (db) => pgqueue.getTask(db, 1), ["pkey"], 1],
];

const insert = (count: number, row: string, queue = "'q'") => `
  insert into pgqueue_tasks (queue, payload, status, run_at, priority, hash, hash_held, finished_at)
  select ${queue}, jsonb_build_object('i', g), ${row} from generate_series(1, ${count}) g;`;
const dueAt = (count: number, row: string, queue?: string) =>
  insert(count, `'pending', now() - interval '1 d' + g * interval '0.1 s', ${row}, null`, queue);
const ready = (count: number) => dueAt(count, "g % 3, 'h' || g, true");
const finished = (count: number, ...statuses: ("completed" | "failed")[]) =>
  statuses
    .map((status) =>
      insert(
        count,
        `'${status}', now() - interval '9 d', g % 3, '${status}' || g, true, now() - interval '8 d' + g * interval '0.5 s'`,
      ),
    )
    .join("");
const future = (count: number) =>
  insert(count, `'pending', now() + g * interval '1 h', g % 3, 'later' || g, true, null`);
const queues = (count: number, each: number) =>
  dueAt(count * each, "0, null, false", `'q' || g % ${count}`) + dueAt(400, "g % 3, 'q' || g, true");
const analyze = "analyze pgqueue_tasks; analyze pgqueue_queues;";
const million = 1_000_000;

const tables: [name: string, setup: string][] = [
  ["an empty table, never analysed", ""],
  ["300,000 ready tasks, never analysed", ready(300_000)],
  ["300,000 ready tasks", ready(300_000) + analyze],
  ["a million completed tasks beside a few ready ones", finished(million, "completed") + ready(400) + analyze],
  ["a million failed tasks beside a few ready ones", finished(million, "failed") + ready(400) + analyze],
  ["a million future tasks beside a few ready ones", future(million) + ready(400) + analyze],
  [
    "100,000 ready and 200,000 ended tasks, analysed while empty",
    analyze + ready(100_000) + finished(100_000, "completed", "failed"),
  ],
  ["2,000 queues of 200 ready tasks", queues(2_000, 200) + analyze],
  ["2,000 queues, of which one has grown since the last analysis", queues(2_000, 50) + analyze + ready(100_000)],
];

/** The plans of every hot statement, on tables of all shapes, on one major of Postgres. */
export function describePlans(major: PostgresMajor): void {
  const missing = whyMissing(major);
  describe.skipIf(missing)(`Postgres ${major}${missing ? ` (${missing})` : ""}`, () => {
    let server: PostgresServer;
    beforeAll(async () => {
      // Nothing here has to outlive a crash, and statistics change when a test says so.
      server = await PostgresServer.create({ major, settings: { fsync: "off", autovacuum: "off" } });
    }, 60_000);
    afterAll(() => server.destroy());

    test("a scan of the table would be seen", async () => {
      const database = await createDatabase({ migrated: true, server: server.url });
      await database.client.unsafe(ready(100));
      const [scan] = await plansOf(database, (db) => db.execute(`select from pgqueue_tasks where payload = '1'`));
      expect(scan).toEqual({ type: "Seq Scan", relation: "pgqueue_tasks", index: undefined, rows: 100 });
      await database.end();
    });

    describe.each(tables)("on %s", (_, setup) => describeTable(() => server.url, setup));
  });
}

function describeTable(serverUrl: () => string, setup: string): void {
  let database: TestDatabase;
  let held: Held;

  beforeAll(async () => {
    database = await createDatabase({ migrated: true, server: serverUrl() });
    const { client, db } = database;
    await client.unsafe(setup);
    // Not seen by any statistics: a hundred claims that stand, and a hundred whose lease ran out.
    if (setup) {
      await pgqueue.upsertTicker(db, clock);
      const expired = await claimAll(db, spec, { limit: batch });
      await client`
        update pgqueue_tasks set lease_until = now() - interval '1 s' where id = any(${expired.map(({ id }) => id)})`;
    }
    const token = newClaimToken();
    const tasks = await pgqueue.claim(db, spec, { limit: batch, token });
    expect(tasks).toHaveLength(setup ? batch : 0);
    held = { token, tasks: setup ? tasks : [1, 2].map((id) => ({ ...gone, id })) };
  }, 120_000);
  afterAll(() => database.end());

  const gone = { queue: "q", token: newClaimToken(), claims: 1, attempt: 1, maxRetries: null } as Claimed<any>;

  test.each(cases)("%s", async (_, run, indexes, most) => {
    const touched = await plansOf(database, async (db) => {
      try {
        await run(db, held);
      } catch (error) {
        if (setup) throw error;
      }
    });
    const ofTasks = touched.filter(
      ({ relation, index }) => relation !== "pgqueue_queues" && !index?.startsWith("pgqueue_queues"),
    );
    expect(ofTasks.length).toBeGreaterThan(0);
    const allowed = indexes.map((index) => `pgqueue_tasks_${index}`);
    for (const { type, index } of ofTasks) {
      // Postgres plans for ten pages where there is none yet, which it may as well read as a whole.
      if (type === "Bitmap Heap Scan" || (type === "Seq Scan" && !setup)) continue;
      expect(allowed, `${type} ${index ?? "of the table"}`).toContain(index);
    }
    expect(ofTasks.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThanOrEqual(setup ? most : 0);
  });

  test("assertPlans finds nothing wrong", () => assertPlans(database.db, { queue: "q", pgqueue }));
}
