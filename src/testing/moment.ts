import { AsyncLocalStorage } from "node:async_hooks";
import { OptionsError } from "../errors.ts";
import { setTimeSource } from "../queries/clock.ts";

/** What time it is for all that is called while a test runs at a moment of its own. */
export interface Moment {
  now: Date;
  /** What was begun in it and goes on afterwards is back in the present. */
  isOver?: boolean;
}

const moments = new AsyncLocalStorage<Moment>();
setTimeSource(() => {
  const moment = moments.getStore();
  return moment?.isOver ? undefined : moment?.now;
});

/** Runs something at a moment that may move while it runs. */
export async function during<T>(moment: Moment, run: () => Promise<T>): Promise<T> {
  try {
    return await moments.run(moment, run);
  } finally {
    moment.isOver = true;
  }
}

/**
 * Runs a function at a moment of your choice: every statement of pgqueue that it makes takes it for the time of day. No
 * clock is patched, neither that of JavaScript nor that of Postgres.
 *
 * @throws OptionsError when `now` is no valid Date of the years 1 to 9999, or `run` no function.
 * @throws what `run` throws.
 * @example
 * await at(new Date("2027-01-01T00:00:00Z"), () => enqueue(db, sendReceipt, payload, { delay: "1d" }));
 */
export async function at<T>(now: Date, run: () => T | Promise<T>): Promise<T> {
  const year = now instanceof Date ? now.getUTCFullYear() : Number.NaN;
  if (!(year >= 1 && year <= 9999)) throw new OptionsError("at.now", now, "a valid Date of the years 1 to 9999");
  if (typeof run !== "function") throw new OptionsError("at.run", run, "a function");
  return during({ now: new Date(now) }, async () => run());
}
