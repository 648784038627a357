import { type SQL, sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";
import { isoText } from "./clock.ts";

const name = sql.raw("'LeaseExpiredError'");

/** The error that `reap` records. */
export function reapedFailure({ tasks }: Binding, at: SQL): SQL {
  return sql`jsonb_build_object(
      'attempt', ${tasks.attempt}, 'at', ${isoText(at)}, 'name', ${name},
      'message', 'the lease ran out' || coalesce(' while ' || ${tasks.claimedBy} || ' held it', ''))`;
}

/**
 * Whether the try before was ended by `reap`. Only `reap` records the error without a stack; a handler that throws the
 * reason of its signal has one.
 *
 * @param tries how many are charged at least, if there was a try before
 */
export function lastTryWasReaped({ tasks }: Binding, tries: 1 | 2): SQL<boolean> {
  return sql<boolean>`coalesce(${tasks.attempt} >= ${sql.raw(String(tries))}
    and ${tasks.errors} -> 0 ->> 'name' = ${name} and ${tasks.errors} -> 0 -> 'stack' is null, false)`;
}
