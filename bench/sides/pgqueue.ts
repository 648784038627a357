import { drizzle as drizzleNodePostgres } from "drizzle-orm/node-postgres";
import { drizzle as drizzlePostgresJs } from "drizzle-orm/postgres-js";
import pg from "pg";
import postgres from "postgres";
import * as v from "valibot";
import { library } from "../package-under-test.ts";
import { busyTables } from "./busy-tables.ts";
import { failProcess } from "./fail-process.ts";
import type { Side, Tuning } from "./side.ts";

type WorkerEvent = Parameters<NonNullable<Parameters<typeof library.createWorker>[0]["onEvent"]>>[0];

const { createPgqueue, createWorker, defineJob, migrate, pgqueueTables } = library;

export const pgqueue = createPgqueue(pgqueueTables());

const queue = "benchmark";
const payload = v.object({ n: v.number(), to: v.string() });

export const benchmarkJob = defineJob({ queue, payload });

/** The same tasks, whose rows the statement that completes them deletes. */
const deletingJob = defineJob({ queue, payload, retain: { completed: 0 } });

type Driver = "postgres.js" | "node-postgres";

interface Settings {
  driver: Driver;
  worker: { concurrency?: number };
  /** Options of the driver. */
  pool: { max?: number };
  /** What a migration of the user's own sets. */
  tables?: readonly string[];
}

// As docs/performance.md advises: node-postgres for batches, postgres.js for single tasks.
const settings: Record<Tuning, Settings> = {
  default: { driver: "postgres.js", worker: {}, pool: {} },
  best: { driver: "node-postgres", worker: { concurrency: 1_000 }, pool: { max: 10 }, tables: busyTables },
  latency: { driver: "postgres.js", worker: {}, pool: {} },
  "slow handlers": { driver: "node-postgres", worker: { concurrency: 50 }, pool: { max: 10 }, tables: busyTables },
  statements: { driver: "postgres.js", worker: {}, pool: {} },
};

export type Db = Parameters<typeof pgqueue.claim>[0];

/** A pool with one connection open. */
export async function connect(
  url: string,
  driver: Driver,
  { max }: { max?: number } = {},
): Promise<{ db: Db; end(): Promise<void> }> {
  if (driver === "postgres.js") {
    const client = postgres(url, { ...(max && { max }), onnotice() {} });
    await client`select 1`;
    return { db: drizzlePostgresJs({ client }), end: () => client.end() };
  }
  const pool = new pg.Pool({ connectionString: url, ...(max && { max }) });
  await pool.query("select 1");
  return { db: drizzleNodePostgres({ client: pool }), end: () => pool.end() };
}

export const pgqueueSide: Side = {
  name: "pgqueue",
  settings: (tuning) => ({ ...settings[tuning] }),
  deletesAlways: false,
  hasUnfinished: "select exists (select from pgqueue_tasks where status in ('pending', 'running'))",
  countTasks: "select count(*)::int from pgqueue_tasks",
  countCompleted: "select count(*)::int from pgqueue_tasks where status = 'completed'",

  async install(url, tuning) {
    const { db, end } = await connect(url, "postgres.js");
    await migrate(db);
    for (const setting of settings[tuning].tables ?? []) await db.execute(setting);
    await end();
  },

  async openProducer(url) {
    const { driver, pool } = settings.statements;
    const { db, end } = await connect(url, driver, pool);
    return {
      async enqueue(payload) {
        await pgqueue.enqueue(db, benchmarkJob, payload);
      },
      async enqueueMany(payloads) {
        const items = payloads.map((payload) => ({ payload }));
        await pgqueue.enqueueMany(db, benchmarkJob, items);
      },
      close: end,
    };
  },

  async openConsumer(url, { tuning, handle, deletes }) {
    const { driver, worker: options, pool } = settings[tuning];
    const { db, end } = await connect(url, driver, pool);
    const worker = createWorker({ db, pgqueue, onEvent: failAtFaults, ...options });
    worker.register(deletes ? deletingJob : benchmarkJob, ({ payload }) => handle(payload.n));
    return {
      async start() {
        await worker.start();
      },
      async stop() {
        await worker.stop();
        await end();
      },
    };
  },
};

/** As the peers' errors do. */
function failAtFaults(event: WorkerEvent): void {
  if (event.type === "settled" && event.result === "done") return;
  failProcess(`The worker reported: ${JSON.stringify(event)}`, "error" in event ? event.error : undefined);
}
