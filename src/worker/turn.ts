import type { Pgqueue } from "../queries/pgqueue.ts";

/**
 * Resolves in a later turn of the event loop, when the sockets that failed in this one are closed. In between, postgres.js
 * 3.4 would send a statement over the connection that it is losing, and never answer it (porsager/postgres#1215).
 */
export async function nextTurn(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
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
