import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { done, fail, type Result } from "../../src/tasks/result.ts";
import { createWorker } from "../../src/worker/create.ts";
import type { Context, Job } from "../../src/worker/handler.ts";
import { beginRun, type Run } from "./ledger.ts";
import { inTransaction } from "./transaction.ts";
import { pgqueue, type Work, workSpec } from "./work.ts";

/** A worker in a process of its own, as a user would write it, whose handlers keep the ledger. */

const { url, name, concurrency, reapInterval, work } = JSON.parse(process.env.FLEET_WORKER!);
// Without `fetch_types: false` a connection that breaks while postgres.js reads the array types, as it does on each new one,
// is an unhandled rejection of its own, and ends the process.
const connect = (max: number) =>
  postgres(url, {
    max,
    fetch_types: false,
    onnotice: () => {},
    backoff: (tries: number) => Math.min(0.02 * tries, 0.5),
  });
const client = connect(4);
const ledger = connect(3);
const db = drizzle(client);

/** An outcome may still come when the channel is closed. */
const tell = (kind: string, task?: number) =>
  process.connected && process.send?.({ kind, task }, undefined, {}, () => {});

const die = () => {
  process.kill(process.pid, "SIGKILL");
  return new Promise<never>(() => {});
};
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

async function perform({ id, payload, attempt }: Job<Work>, context: Context, run: Run): Promise<Result | void> {
  const effect = async (finalize: boolean) => {
    await inTransaction(client, async (tx) => {
      await tx.execute(`insert into effects (task, run) values (${id}, '${run.id}')`);
      if (finalize) await context.finalize(tx, done());
    });
  };
  if (payload.takes) await new Promise((resolve) => setTimeout(resolve, payload.takes));
  switch (payload.kind) {
    case "ok":
      return done();
    case "flaky":
      if (attempt <= 2) throw new Error("not yet");
      return;
    case "fail":
      return fail("as asked for");
    case "transactional":
      return effect(true);
    case "dies after commit":
      await effect(false);
      return attempt === 1 ? die() : done();
    case "dies after finalize":
      await effect(true);
      return die();
    case "poison":
      return die();
    case "hangs once":
      if (attempt > 1) return;
      await aborted(context.signal);
      throw context.signal.reason;
  }
}

const worker = createWorker({
  db,
  pgqueue,
  concurrency,
  reapInterval,
  workerId: name,
  onEvent: (event) => tell(event.type, "taskId" in event ? event.taskId : undefined),
});
worker.register(workSpec(work), async (job, context) => {
  const run = await beginRun(ledger, { process: name, task: job.id, attempt: job.attempt }, context.signal);
  tell("run", job.id);
  let outcome = "threw";
  try {
    const result = await perform(job, context, run);
    outcome = result?.type ?? "done";
    return result;
  } finally {
    await run.end(outcome, context.signal);
  }
});

const quit = new AbortController();
process.once("SIGTERM", () => quit.abort());
const running = worker.run({ signal: quit.signal });
tell("ready");
await running;
await Promise.all([client.end({ timeout: 1 }), ledger.end({ timeout: 1 })]);
process.disconnect?.();
