import { setTimeout as pause } from "node:timers/promises";
import { library } from "../package-under-test.ts";
import { busyTables } from "./busy-tables.ts";
import { benchmarkJob, connect, type Db, pgqueue, pgqueueSide } from "./pgqueue.ts";
import type { Handle, Side } from "./side.ts";

interface Settings {
  driver: "node-postgres";
  /** Each on a connection of its own. */
  loops: number;
  /** Tasks of one claim and one finalize. */
  batch: number;
  /** As pgqueue's at its best, in whose tables it works. */
  tables: readonly string[];
}

const settings: Settings = { driver: "node-postgres", loops: 2, batch: 1_000, tables: busyTables };

/** pgqueue's own statements in a bare loop: what a worker could reach if it cost nothing. */
export const floorSide: Side = {
  ...pgqueueSide,
  name: "floor",
  settings: () => ({ ...settings }),

  async openConsumer(url, { handle, deletes }) {
    if (deletes) throw new Error("The floor deletes nothing.");
    const { driver, loops, batch } = settings;
    const { db, end } = await connect(url, driver, { max: loops });
    const stopped = new AbortController();
    let running: Promise<unknown> = Promise.resolve();
    return {
      async start() {
        running = Promise.all(Array.from({ length: loops }, () => loop(db, batch, handle, stopped.signal)));
      },
      async stop() {
        stopped.abort();
        await running;
        await end();
      },
    };
  },
};

async function loop(db: Db, batch: number, handle: Handle, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const claimed = await pgqueue.claim(db, benchmarkJob, { limit: batch });
    if (claimed.length === 0) {
      await pause(5);
      continue;
    }
    const handled = claimed.map(({ payload }) => handle((payload as { n: number }).n));
    await Promise.all(handled.filter((promise) => promise !== undefined));
    let open = claimed;
    // A row that another claim has locked in passing is skipped by finalize.
    while (open.length > 0) {
      const outcomes = open.map((task) => ({ task, result: library.done() }));
      const applied = new Set((await pgqueue.finalize(db, benchmarkJob, outcomes)).map(({ id }) => id));
      open = open.filter(({ id }) => !applied.has(id));
    }
  }
}
