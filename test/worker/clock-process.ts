import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { createWorker } from "../../src/worker/create.ts";
import { job, pgqueue } from "../queries/jobs.ts";

// The wall clock of this process is wrong, as on a machine whose clock nobody sets.
const wrong = Number(process.env.CLOCK_OFFSET);
const RightDate = Date;
globalThis.Date = class extends RightDate {
  constructor(...args: [] | [number]) {
    super(...((args.length === 0 ? [RightDate.now() + wrong] : args) as [number]));
  }
  static override now(): number {
    return RightDate.now() + wrong;
  }
} as DateConstructor;

/** The other side of `clock.test.ts`: a worker that tells of each run. */
const client = postgres(process.env.DATABASE_URL!, { onnotice: () => {} });
const quit = new AbortController();
process.once("message", () => quit.abort());

const worker = createWorker({
  db: drizzle(client),
  pgqueue,
  reapInterval: 100,
  onEvent: ({ type }) => type !== "settled" && process.send?.({ kind: "fault", type }),
});
worker.register(
  job({ queue: process.env.QUEUE!, pollInterval: 50, leaseDuration: 6_000, finalizeBuffer: 1_000, retryDelay: 300 }),
  async ({ payload, attempt }, { signal }) => {
    process.send?.({ kind: "run", payload, attempt, clock: Date.now() });
    if (payload === "flaky" && attempt === 1) throw new Error("once");
    if (payload === "long") await new Promise((resolve) => setTimeout(resolve, 500));
    if (signal.aborted) process.send?.({ kind: "fault", type: "aborted" });
  },
);
const running = worker.run({ signal: quit.signal });
process.send?.({ kind: "ready" });
await running;
await client.end();
process.disconnect?.();
