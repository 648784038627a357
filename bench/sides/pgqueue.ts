import { setTimeout as pause } from "node:timers/promises";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import * as v from "valibot";
import { library } from "../package-under-test.ts";
import type { Side, Tuning } from "./side.ts";

const { createPgqueue, createWorker, defineJob, migrate, pgqueueTables } = library;

export const pgqueue = createPgqueue(pgqueueTables());

export const benchmarkJob = defineJob({
  queue: "benchmark",
  payload: v.object({ n: v.number(), to: v.string() }),
});

interface Settings {
  worker: { concurrency?: number };
  /** Options of postgres.js. */
  pool: { max?: number };
}

const settings: Record<Tuning, Settings> = {
  default: { worker: {}, pool: {} },
  best: { worker: { concurrency: 1_000 }, pool: { max: 10 } },
  latency: { worker: {}, pool: {} },
  "slow handlers": { worker: { concurrency: 50 }, pool: { max: 10 } },
};

const purgePause = 100;
const purgeLimit = 10_000;

export const pgqueueSide: Side = {
  name: "pgqueue",
  settings: (tuning) => ({ ...settings[tuning] }),
  deletesAlways: false,
  hasUnfinished: "select exists (select from pgqueue_tasks where status in ('pending', 'running'))",
  countTasks: "select count(*)::int from pgqueue_tasks",
  countCompleted: "select count(*)::int from pgqueue_tasks where status = 'completed'",

  async install(url) {
    const client = postgres(url, { onnotice() {} });
    await migrate(drizzle({ client }));
    await client.end();
  },

  async openProducer(url) {
    const client = postgres(url);
    const db = drizzle({ client });
    return {
      async enqueue(payload) {
        await pgqueue.enqueue(db, benchmarkJob, payload);
      },
      async enqueueMany(payloads) {
        const items = payloads.map((payload) => ({ payload }));
        await pgqueue.enqueueMany(db, benchmarkJob, items);
      },
      close: () => client.end(),
    };
  },

  async openConsumer(url, { tuning, handle, deletes }) {
    const client = postgres(url, settings[tuning].pool);
    const db = drizzle({ client });
    await client`select 1`;
    const worker = createWorker({ db, pgqueue, ...settings[tuning].worker });
    worker.register(benchmarkJob, ({ payload }) => handle(payload.n));
    const stopped = new AbortController();
    let purging = Promise.resolve();
    return {
      async start() {
        await worker.start();
        if (deletes) purging = keepPurging(db, stopped.signal);
      },
      async stop() {
        await worker.stop();
        stopped.abort();
        await purging;
        await client.end();
      },
    };
  },
};

async function keepPurging(db: ReturnType<typeof drizzle>, stopped: AbortSignal): Promise<void> {
  const finished = { queue: benchmarkJob, status: "completed", olderThan: 0, limit: purgeLimit } as const;
  while (!stopped.aborted) {
    const purged = await pgqueue.purge(db, finished);
    if (purged.length < purgeLimit) await pause(purgePause);
  }
}
