import { drizzle } from "drizzle-orm/postgres-js";
import type { TestDatabase } from "../postgres/database.ts";

/** A second handle on the same client that writes down each statement before it is sent. */
export function recorded({ client }: TestDatabase): { db: TestDatabase["db"]; statements: string[] } {
  const statements: string[] = [];
  const db = drizzle(client, { logger: { logQuery: (query) => statements.push(query) } });
  return { db, statements };
}

/** What is notified on pgqueue's channel from here on, in order. */
export async function listening({ client }: TestDatabase) {
  const received: string[] = [];
  const waiting: { payload: string; found: () => void }[] = [];
  const { unlisten } = await client.listen("pgqueue", (payload) => {
    received.push(payload);
    for (const waiter of waiting) if (waiter.payload === payload) waiter.found();
  });
  return {
    /** What came so far: all that was committed before this call, since notifications arrive in order of commit. */
    async all(): Promise<string[]> {
      const payload = `marker-${crypto.randomUUID()}`;
      const marked = new Promise<void>((found) => waiting.push({ payload, found }));
      await client`select pg_notify('pgqueue', ${payload})`;
      await marked;
      return received.splice(0).filter((text) => text !== payload);
    },
    unlisten,
  };
}
