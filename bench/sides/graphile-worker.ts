import { EventEmitter } from "node:events";
import { Logger, makeWorkerUtils, type Runner, type RunnerOptions, run, type WorkerEvents } from "graphile-worker";
import { failProcess } from "./fail-process.ts";
import type { Payload, Side, Tuning } from "./side.ts";

type Settings = Pick<RunnerOptions, "concurrency" | "pollInterval"> & {
  preset?: { worker: GraphileConfig.WorkerOptions };
  /** Of this benchmark: it prints a line for every task by default. */
  prints: boolean;
};

const settings: Record<Tuning, Settings> = {
  // As in its quick start for library mode.
  default: { concurrency: 5, pollInterval: 1_000, prints: true },
  // As on its page about performance; the refetch delay is that of its own performance test.
  best: {
    prints: false,
    preset: {
      worker: {
        concurrentJobs: 24,
        maxPoolSize: 25,
        localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
        completeJobBatchDelay: 250,
        failJobBatchDelay: 250,
      },
    },
  },
  latency: { prints: false, preset: { worker: { concurrentJobs: 24, maxPoolSize: 25 } } },
  "slow handlers": {
    prints: false,
    preset: {
      worker: {
        concurrentJobs: 50,
        maxPoolSize: 25,
        localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
        completeJobBatchDelay: 250,
        failJobBatchDelay: 250,
      },
    },
  },
  statements: { prints: false },
};

const taskName = "benchmark";
const jobsInOneCall = 5_000;
// Prints nothing; some errors, such as those of fetching into a local queue, it is told alone.
const silent = new Logger(() => (level, message, meta) => {
  if (level === "error") failProcess(`graphile-worker logged: ${message}`, meta?.error);
});
const faults = [
  "job:error",
  "job:failed",
  "worker:getJob:error",
  "worker:fatalError",
  "pool:listen:error",
  "pool:fatalError",
] as const;

export const graphileWorkerSide: Side = {
  name: "graphile-worker",
  settings: (tuning) => ({ ...settings[tuning] }),
  deletesAlways: true,
  hasUnfinished: "select exists (select from graphile_worker._private_jobs)",
  countTasks: "select count(*)::int from graphile_worker._private_jobs",
  countCompleted: "select 0",

  async install(url) {
    const utils = await makeWorkerUtils({ connectionString: url, logger: silent });
    await utils.migrate();
    await utils.release();
  },

  async openProducer(url) {
    const utils = await makeWorkerUtils({ connectionString: url, logger: silent });
    return {
      async enqueue(payload) {
        await utils.addJob(taskName, payload);
      },
      async enqueueMany(payloads) {
        for (let from = 0; from < payloads.length; from += jobsInOneCall) {
          const some = payloads.slice(from, from + jobsInOneCall);
          await utils.addJobs(some.map((payload) => ({ identifier: taskName, payload })));
        }
      },
      async close() {
        await utils.release();
      },
    };
  },

  async openConsumer(url, { tuning, handle }) {
    const { prints, ...options } = settings[tuning];
    let runner: Runner | undefined;
    return {
      async start() {
        runner = await run({
          connectionString: url,
          noHandleSignals: true,
          events: failingAtFaults(),
          taskList: { [taskName]: (payload) => handle((payload as Payload).n) },
          ...options,
          ...(prints ? {} : { logger: silent }),
        });
        runner.promise.catch((error: unknown) => failProcess("graphile-worker ended", error));
      },
      async stop() {
        await runner?.stop();
      },
    };
  },
};

function failingAtFaults(): WorkerEvents {
  const events: WorkerEvents = new EventEmitter();
  for (const fault of faults) {
    events.on(fault, ({ error }: { error: unknown }) => failProcess(`graphile-worker reported ${fault}`, error));
  }
  return events;
}
