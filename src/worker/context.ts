import { ConflictError, OptionsError, StaleClaimError } from "../errors.ts";
import { milliseconds } from "../tasks/duration.ts";
import { isResult } from "../tasks/result.ts";
import type { Context } from "./handler.ts";
import type { Host, Registration } from "./host.ts";
import type { Lease } from "./lease.ts";
import { pause } from "./pause.ts";
import type { PayloadChanges } from "./payload-change.ts";
import type { Run } from "./run.ts";

// Two extensions at once skip each other's lock, which is over in a moment.
const mostTries = 20;
const pauseBetweenTries = 25;

const leaseOf = Symbol("lease");

interface Leased {
  readonly [leaseOf]: Lease;
}

// One getter for all: with one of its own each context would have a hidden class of its own, which takes V8 longer to make
// than all else of a short run.
const signal: PropertyDescriptor & ThisType<Leased> = {
  enumerable: true,
  get() {
    return this[leaseOf].signal;
  },
};

/** What a handler works with. An object of its own members, since a handler may well pass on `{ ...context, logger }`. */
export function contextOf(
  { db, pgqueue, workerId }: Host,
  { spec }: Registration,
  run: Run,
  changes: PayloadChanges,
): Context {
  const { task, lease } = run;
  const own: Omit<Context, "signal"> & Leased = {
    [leaseOf]: lease,
    workerId,
    extendLease: async (duration = spec.leaseDuration) => {
      const length = milliseconds("extendLease.duration", duration, 1);
      for (let tries = 1; tries <= mostTries; tries++) {
        const sentAt = performance.now();
        const [extended] = await pgqueue.extendLease(db, spec, task, length);
        if (extended) return lease.extend(sentAt, length);
        const [held] = await pgqueue.heldBy(db, spec, [task]);
        if (held?.holding !== "busy") {
          const stale = new StaleClaimError(spec.queue, task.id);
          lease.abort(stale);
          throw stale;
        }
        await pause(pauseBetweenTries, lease.signal);
      }
      throw new ConflictError(`the lease of task ${task.id} was not extended: an open transaction holds its row`);
    },
    finalize: async (tx, result) => {
      if (!isResult(result)) throw new OptionsError("finalize.result", result, "done(), retry(), fail() or skip()");
      await pgqueue.finalizeOrThrow(tx, spec, { task, result, ...changes.keptBy(result) });
      run.finalized = result;
    },
  };
  return Object.defineProperty(own, "signal", signal) as typeof own & Pick<Context, "signal">;
}
