import { type SQL, sql } from "drizzle-orm";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { isoText, statementTime } from "./clock.ts";
import { documentsOf } from "./documents.ts";
import { documentOf, endsOf, type Outcome } from "./ends.ts";
import { withFailure } from "./failures.ts";
import { held, isHeld } from "./held.ts";
import { noClaim } from "./no-claim.ts";
import { type Db, type DrizzleDb, primary, type Statement, statement } from "./statement.ts";

/**
 * Applies what `transition` says of each outcome, as far as its claim still stands: an update; a delete where nothing is
 * retained of any of them; both in one statement where some go and some stay.
 */
export function finalize(
  binding: Binding,
  db: Db,
  spec: Spec,
  outcomes: Outcome | readonly Outcome[],
  { wait = false } = {},
): Statement<{ id: number }> {
  const ends = endsOf(spec, outcomes);
  const document = documentsOf(ends.map((end) => documentOf(spec, end)));
  const handle = primary("finalize", db);
  const deletes = ends.some(({ next }) => next.isDeleted);
  const updates = ends.length === 0 || ends.some(({ next }) => !next.isDeleted);

  const rows = held(binding, handle, spec, document, {
    columns: updates ? ending() : undefined,
    lock: deletes ? "update" : "no key update",
    wait,
  });
  if (!deletes) return statement(update(binding, handle.with(rows), spec));
  const isDeleted = isHeld(binding, spec, updates ? sql`where deletes` : undefined);
  if (!updates) return statement(remove(binding, handle.with(rows), isDeleted));

  const id = sql`id`.mapWith(Number).as("id");
  const deleted = handle.$with("deleted").as(remove(binding, handle, isDeleted));
  const updated = handle.$with("updated").as(update(binding, handle, spec, sql`not held.deletes`));
  const applied = sql`(select id from deleted union all select id from updated) as applied`;
  return statement(handle.with(rows, deleted, updated).select({ id }).from(applied));
}

/** What `documentOf` says, unpacked. */
function ending(): SQL {
  return sql`
      docs.doc ->> 'status' as status, (docs.doc ->> 'attempt')::int as attempt,
      docs.doc -> 'releasesHash' is not null as releases_hash,
      docs.doc -> 'payload' as payload, docs.doc -> 'output' as output,
      case when docs.doc -> 'failure' is not null
        then (docs.doc -> 'failure') || jsonb_build_object('at', ${isoText(statementTime())}) end as failure,
      ${statementTime()} as at,
      ${statementTime()} + (docs.doc ->> 'delay')::float8 * interval '1 millisecond' as run_at,
      docs.doc -> 'deletes' is not null as deletes`;
}

function update(binding: Binding, handle: Pick<DrizzleDb, "update">, spec: Spec, condition?: SQL) {
  const { tasks } = binding;
  return handle
    .update(tasks)
    .set({
      status: sql`held.status`,
      attempt: sql`held.attempt`,
      runAt: sql`coalesce(held.run_at, ${tasks.runAt})`,
      hashHeld: sql`${tasks.hashHeld} and not held.releases_hash`,
      payload: sql`coalesce(held.payload, ${tasks.payload})`,
      output: sql`case when held.output is null then ${tasks.output} else nullif(held.output, 'null') end`,
      errors: withFailure(binding, sql`held.failure`),
      finishedAt: sql`case when held.status <> 'pending' then held.at end`,
      ...noClaim,
    })
    .from(sql`held`)
    .where(sql`${tasks.queue} = ${spec.queue} and ${tasks.id} = held.id ${condition ? sql`and ${condition}` : sql``}`)
    .returning({ id: tasks.id });
}

function remove({ tasks }: Binding, handle: Pick<DrizzleDb, "delete">, condition: SQL) {
  return handle.delete(tasks).where(condition).returning({ id: tasks.id });
}
