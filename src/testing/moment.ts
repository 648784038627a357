import { AsyncLocalStorage } from "node:async_hooks";
import { OptionsError } from "../errors.ts";
import { setTimeSource } from "../queries/clock.ts";

/** What time it is for all that is called while a test runs at a moment of its own. */
export interface Moment {
  now: Date;
}

const moments = new AsyncLocalStorage<Moment>();
setTimeSource(() => moments.getStore()?.now);

/** Runs something at a moment that may move while it runs. */
export function during<T>(moment: Moment, run: () => Promise<T>): Promise<T> {
  return moments.run(moment, run);
}

/**
 * Runs a function at a moment of your choice: every statement of pgqueue that it makes takes it for the time of day. No
 * clock is patched, neither that of JavaScript nor that of Postgres.
 *
 * @throws OptionsError when `now` is no valid Date.
 * @example
 * await at(new Date("2027-01-01T00:00:00Z"), () => enqueue(db, sendReceipt, payload, { delay: "1d" }));
 */
export async function at<T>(now: Date, run: () => T | Promise<T>): Promise<T> {
  if (!(now instanceof Date) || Number.isNaN(now.getTime())) throw new OptionsError("at.now", now, "a valid Date");
  return during({ now }, async () => run());
}
