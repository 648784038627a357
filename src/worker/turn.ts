import { driverOf } from "../queries/driver.ts";
import type { Pgqueue } from "../queries/pgqueue.ts";
import type { Db } from "../queries/statement.ts";

// Those of before a test has timers faked.
const { setImmediate, setTimeout } = globalThis;

/** Resolves in the next turn of the event loop. */
export type NextTurn = () => Promise<void>;

/**
 * When sockets that failed in this turn are closed. Before, postgres.js 3.4 would send a statement over the connection that
 * it is losing, and never answer it (porsager/postgres#1215). By a timer, which costs a millisecond: setImmediate comes
 * before sockets are closed.
 */
export const afterClosings: NextTurn = () => new Promise((resolve) => setTimeout(resolve, 0));

export const afterThisTurn: NextTurn = () => new Promise((resolve) => setImmediate(resolve));

export function nextTurnOf(db: Db): NextTurn {
  const driver = driverOf(db);
  return driver === "PGlite" || driver === "node-postgres pool" ? afterThisTurn : afterClosings;
}

/** The same statements, whose failures come a turn later: whoever learns of one may send the next at once. */
export function failingLater(pgqueue: Pgqueue<any, any>, nextTurn: NextTurn): Pgqueue<any, any> {
  const later = Object.entries(pgqueue).map(([name, statement]) => [
    name,
    async (...args: unknown[]) => {
      try {
        return await (statement as (...args: unknown[]) => unknown)(...args);
      } catch (error) {
        await nextTurn();
        throw error;
      }
    },
  ]);
  return Object.fromEntries(later) as Pgqueue<any, any>;
}
