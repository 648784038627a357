import { OptionsError } from "../errors.ts";
import { type Db, primary } from "../queries/statement.ts";

/**
 * Runs a test in a transaction that is always rolled back, so that a database can be shared by all tests: pass `tx` for
 * `db`, to a worker too. As in any transaction, a statement that fails outside of a savepoint ends it for all that follow.
 *
 * @throws OptionsError when `db` is no database of Drizzle's on Postgres, or `run` no function.
 * @throws ConflictError when `db` is a transaction that has ended, where the driver shows it.
 * @throws what `run` throws.
 * @example
 * await rollBack(db, async (tx) => {
 *   await checkOut(tx, cart);
 *   await expectEnqueued(tx, sendReceipt);
 * });
 */
export async function rollBack<D extends Db, T>(db: D, run: (tx: TransactionOf<D>) => Promise<T>): Promise<T> {
  primary("rollBack", db);
  if (typeof run !== "function") throw new OptionsError("rollBack.run", run, "a function");
  const undo = new Undo<T>();
  try {
    await db.transaction(async (tx) => {
      undo.value = await run(tx);
      throw undo;
    });
  } catch (error) {
    if (error !== undo) throw error;
  }
  return undo.value as T;
}

type TransactionOf<D extends Db> = Parameters<Parameters<D["transaction"]>[0]>[0];

class Undo<T> extends Error {
  value: T | undefined;
}
