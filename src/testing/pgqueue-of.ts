import { sql } from "drizzle-orm";
import { OptionsError } from "../errors.ts";
import { latestPgqueues } from "../queries/create.ts";
import type { Pgqueue } from "../queries/pgqueue.ts";
import type { DrizzleDb } from "../queries/statement.ts";

/** Of several sets of tables, the one that this database has. */
export async function pgqueueOf(call: string, handle: DrizzleDb): Promise<Pgqueue<any, any>> {
  const known = latestPgqueues();
  const [only] = known;
  if (only && known.length === 1) return only.pgqueue;
  const names = JSON.stringify(known.map(({ table }) => table));
  const rows = await handle
    .select({ isThere: sql<boolean>`to_regclass(name) is not null` })
    .from(sql`jsonb_array_elements_text(${names}::text::jsonb) with ordinality as tables(name, position)`)
    .orderBy(sql`position`);
  const [found, ...more] = known.filter((_, i) => rows[i]?.isThere);
  if (found && more.length === 0) return found.pgqueue;
  const expected = found
    ? "one of the several that createPgqueue returned, since this database has the tables of more than one"
    : "what createPgqueue returned: it was not called for tables of this database";
  throw new OptionsError(`${call}.pgqueue`, undefined, expected);
}
