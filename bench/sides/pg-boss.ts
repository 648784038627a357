import { type ConstructorOptions, type Job, PgBoss, type WorkOptions } from "pg-boss";
import { failProcess } from "./fail-process.ts";
import type { Payload, Side, Tuning } from "./side.ts";

interface Settings {
  boss: Pick<ConstructorOptions, "max" | "useListenNotify" | "supervise" | "schedule" | "migrate">;
  queue: { notify?: boolean };
  work: WorkOptions;
}

const settings: Record<Tuning, Settings> = {
  default: { boss: {}, queue: {}, work: {} },
  best: {
    boss: { max: 20 },
    queue: {},
    work: { batchSize: 500, localConcurrency: 16, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
  },
  latency: {
    boss: { max: 20, useListenNotify: true },
    queue: { notify: true },
    work: { batchSize: 1, localConcurrency: 4, pollingIntervalSeconds: 0.5 },
  },
  "slow handlers": {
    boss: { max: 20 },
    queue: {},
    work: { batchSize: 10, localConcurrency: 5, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
  },
  statements: { boss: { supervise: false, schedule: false, migrate: false }, queue: {}, work: {} },
};

const queue = "benchmark";
const jobsInOneCall = 5_000;

export const pgBossSide: Side = {
  name: "pg-boss",
  settings: (tuning) => ({ ...settings[tuning] }),
  deletesAlways: false,
  hasUnfinished: `select exists (select from pgboss.job where name = '${queue}' and state < 'completed')`,
  countTasks: `select count(*)::int from pgboss.job where name = '${queue}'`,
  countCompleted: `select count(*)::int from pgboss.job where name = '${queue}' and state = 'completed'`,

  async install(url, tuning) {
    const boss = await open(url, { ...settings[tuning].boss, migrate: true });
    await boss.createQueue(queue, settings[tuning].queue);
    await boss.stop();
  },

  async openProducer(url) {
    const boss = await open(url, settings.statements.boss);
    return {
      async enqueue(payload) {
        await boss.send(queue, payload);
      },
      async enqueueMany(payloads) {
        for (let from = 0; from < payloads.length; from += jobsInOneCall) {
          await boss.insert(
            queue,
            payloads.slice(from, from + jobsInOneCall).map((data) => ({ data })),
          );
        }
      },
      async close() {
        await boss.stop();
      },
    };
  },

  async openConsumer(url, { tuning, handle, deletes }) {
    const boss = await open(url, settings[tuning].boss);
    const work = async (jobs: Job<Payload>[]) => {
      // pg-boss would store what a handler throws, and tell nobody.
      await perform(jobs).catch((error) => failProcess("A handler failed", error));
    };
    const perform = async (jobs: Job<Payload>[]) => {
      const handled = jobs.map(({ data }) => handle(data.n));
      await Promise.all(handled.filter((promise) => promise !== undefined));
      // The way of its documentation to delete what is done at once.
      if (deletes) {
        await boss.deleteJob(
          queue,
          jobs.map(({ id }) => id),
        );
      }
    };
    return {
      async start() {
        await boss.work(queue, settings[tuning].work, work);
      },
      async stop() {
        await boss.stop();
      },
    };
  },
};

async function open(url: string, options: ConstructorOptions): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, ...options });
  boss.on("error", (error) => failProcess(`pg-boss reported: ${error.message}`, error));
  await boss.start();
  return boss;
}
