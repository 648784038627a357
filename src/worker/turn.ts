import type { Pgqueue } from "../queries/pgqueue.ts";

/**
 * Resolves in the next turn of the event loop, when the sockets that failed in this one are closed. In between, postgres.js
 * 3.4 would send a statement over the connection that it is losing, and never answer it (porsager/postgres#1215). By a timer:
 * setImmediate comes before sockets are closed.
 */
export async function nextTurn(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
}

/** The same statements, whose failures come a turn later: whoever learns of one may send the next at once. */
export function failingLater(pgqueue: Pgqueue<any, any>): Pgqueue<any, any> {
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
