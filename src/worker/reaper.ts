import type { Spec } from "../tasks/spec.ts";
import { BatchSize } from "./batch-size.ts";
import type { Claimer } from "./claimer.ts";
import { isRefusal, mayBeOfOneRow } from "./fault.ts";
import type { Host, Registration } from "./host.ts";
import { repeat } from "./repeat.ts";

const batch = 100;
const shortestInterval = 250;
/** So many rows that the table refuses are told of in one round; the next one goes on behind them. */
const mostRefused = 10;

/**
 * Ends the expired claims of a spec, and gives back what this worker claimed without learning it. Goes round every
 * `interval`, or every half lease where that is shorter.
 */
export async function keepReaping(
  host: Host,
  { spec }: Registration,
  claimer: Claimer,
  interval: number,
): Promise<void> {
  const reaper = new Reaper(host, spec);
  const pace = Math.min(interval, Math.max(spec.leaseDuration / 2, shortestInterval));
  await repeat(pace, host.closing, async () => {
    try {
      await claimer.recover();
      await reaper.round();
    } catch (error) {
      host.report({ type: "error", during: "reap", queue: spec.queue, error });
    }
  });
}

class Reaper {
  readonly #host: Host;
  readonly #spec: Spec;
  readonly #size = new BatchSize(batch);
  /** How many of those that expired first are passed over. */
  #passed = 0;

  constructor(host: Host, spec: Spec) {
    this.#host = host;
    this.#spec = spec;
  }

  /** Ends all that are expired, but for those that a trigger or constraint of the user's refuses or holds up. */
  async round(): Promise<void> {
    const { db, pgqueue, closing, report } = this.#host;
    const last = this.#passed + mostRefused;
    while (this.#passed < last && !closing.aborted) {
      const limit = this.#size.current;
      try {
        const { length } = await pgqueue.reap(db, this.#spec, { limit, offset: this.#passed });
        this.#size.succeeded(length);
        if (length === limit) continue;
        this.#passed = 0;
        return;
      } catch (error) {
        this.#size.failed(limit);
        if (!mayBeOfOneRow(error)) throw error;
        if (limit > 1) continue;
        report({ type: "error", during: "reap", queue: this.#spec.queue, error });
        this.#passed++;
        // It may be no fault of this row, but of the moment.
        if (!isRefusal(error)) return;
      }
    }
  }
}
