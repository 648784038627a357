import { expect, vi } from "vitest";
import { databaseError } from "../../src/queries/database-error.ts";
import type { TestDatabase } from "../postgres/database.ts";

type Database = TestDatabase["db"];
type Transaction = Parameters<Parameters<Database["transaction"]>[0]>[0];

export interface OpenTransaction {
  tx: Transaction;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

class Undo extends Error {}

/** A transaction that stays open until the test ends it. */
export function begin(db: Database, config?: Parameters<Database["transaction"]>[1]): Promise<OpenTransaction> {
  return new Promise((opened, failed) => {
    const ended = db.transaction(
      (tx) =>
        new Promise<void>((commit, rollback) => {
          const end = async (settle: () => void) => {
            settle();
            await ended.catch((error) => {
              if (!(error instanceof Undo)) throw error;
            });
          };
          opened({ tx, commit: () => end(commit), rollback: () => end(() => rollback(new Undo())) });
        }),
      config,
    );
    ended.catch(failed);
  });
}

/** Resolves once so many sessions of the database wait for a lock. */
export async function blocked({ client }: TestDatabase, count = 1): Promise<void> {
  await vi.waitFor(
    async () => {
      const [row] = await client`
        select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      expect(row?.waiting).toBe(count);
    },
    { timeout: 10_000, interval: 5 },
  );
}

/** Waiting longer than this for a lock is an error, so that what must not wait fails instead of hanging. */
export const impatient = { connection: { lock_timeout: 8_000 } };

/** The SQLSTATE that a statement failed with; undefined when it did not fail. */
export async function sqlState(run: PromiseLike<unknown>): Promise<string | undefined> {
  try {
    await run;
    return undefined;
  } catch (error) {
    return databaseError(error).code ?? String(error);
  }
}
