import { type SQL, sql } from "drizzle-orm";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { builtOnce } from "./built-once.ts";
import { isoText, statementTime } from "./clock.ts";
import { linesOf } from "./documents.ts";
import { documentOf, type End, endsOf, type Outcome } from "./ends.ts";
import { withFailure } from "./failures.ts";
import { held, isHeld, listsOf, type Parts, partsOf } from "./held.ts";
import { noClaim } from "./no-claim.ts";
import { type Db, type DrizzleDb, primary, type Statement, statement } from "./statement.ts";

/**
 * Applies what `transition` says of each outcome, as far as its claim still stands: an update; a delete where nothing is
 * retained of any of them; both in one statement where some go and some stay. Plain completions, which are most of all,
 * have a shorter form.
 */
export function finalize(
  binding: Binding,
  db: Db,
  spec: Spec,
  outcomes: Outcome | readonly Outcome[],
  { wait = false } = {},
): Statement<{ id: number }> {
  const ends = endsOf(spec, outcomes);
  const handle = primary("finalize", db);
  const documents = ends.map((end, i) => documentOf(spec, end, ends.length > 1 ? i : undefined));
  const form = { kind: kindOf(ends, documents), wait, releasesHash: ends.some(({ next }) => next.releasesHash) };
  const claims = ends.map(({ outcome }) => outcome.task);
  const values: Readonly<Record<string, string>> = hasDocuments(form)
    ? { ...listsOf(claims), documents: linesOf(documents) }
    : { ...partsOf(claims) };
  const shape = `finalize ${Object.values(form)} ${Object.keys(values)}`;
  return statement(
    builtOnce({ binding, handle, spec, shape }, values, (parameters) =>
      // Named as the values are.
      finalizing(binding, handle, spec, form, parameters as unknown as Parts),
    ),
  );
}

interface Form {
  readonly kind: "complete" | "update" | "delete" | "update and delete";
  readonly wait: boolean;
  /** Of one spec, all that end give up their hash or none does. */
  readonly releasesHash: boolean;
}

function kindOf(ends: readonly End[], documents: readonly (string | null)[]): Form["kind"] {
  if (documents.every((document) => document === null)) return "complete";
  if (ends.every(({ next }) => next.isDeleted)) return "delete";
  return ends.some(({ next }) => next.isDeleted) ? "update and delete" : "update";
}

function hasDocuments({ kind }: Form): boolean {
  return kind === "update" || kind === "update and delete";
}

function finalizing(binding: Binding, handle: DrizzleDb, spec: Spec, form: Form, parts: Parts) {
  const { kind, wait, releasesHash } = form;
  const deletes = kind.endsWith("delete");
  const rows = held(binding, handle, spec, parts, {
    columns: hasDocuments(form) ? ending(deletes) : undefined,
    lock: deletes ? "update" : "no key update",
    wait,
  });
  if (kind === "complete") return complete(binding, handle.with(rows), spec, releasesHash);
  if (kind === "update") return update(binding, handle.with(rows), spec, releasesHash);
  if (kind === "delete") return remove(binding, handle.with(rows), isHeld(binding, spec));

  const id = sql`id`.mapWith(Number).as("id");
  const deleted = handle.$with("deleted").as(remove(binding, handle, isHeld(binding, spec, sql`where deletes`)));
  const updated = handle.$with("updated").as(update(binding, handle, spec, releasesHash, sql`not held.deletes`));
  const applied = sql`(select id from deleted union all select id from updated) as applied`;
  return handle.with(rows, deleted, updated).select({ id }).from(applied);
}

function complete(binding: Binding, handle: Pick<DrizzleDb, "update">, spec: Spec, releasesHash: boolean) {
  return handle
    .update(binding.tasks)
    .set({
      status: sql`'completed'`,
      ...(releasesHash && { hashHeld: sql`false` }),
      output: sql`null`,
      finishedAt: statementTime(),
      ...noClaim,
    })
    .where(isHeld(binding, spec))
    .returning({ id: binding.tasks.id });
}

/** What `documentOf` says, unpacked. */
function ending(deletes: boolean): SQL {
  return sql`
      coalesce(given.doc ->> 'status', 'completed') as status, (given.doc ->> 'attempt')::int as attempt,
      given.doc -> 'payload' as payload, given.doc -> 'output' as output,
      case when given.doc -> 'failure' is not null
        then (given.doc -> 'failure') || jsonb_build_object('at', ${isoText(statementTime())}) end as failure,
      ${statementTime()} as at,
      ${statementTime()} + (given.doc ->> 'delay')::float8 * interval '1 millisecond' as run_at
      ${deletes ? sql`, given.doc -> 'deletes' is not null as deletes` : sql``}`;
}

function update(
  binding: Binding,
  handle: Pick<DrizzleDb, "update">,
  spec: Spec,
  releasesHash: boolean,
  condition?: SQL,
) {
  const { tasks } = binding;
  return handle
    .update(tasks)
    .set({
      status: sql`held.status`,
      attempt: sql`coalesce(held.attempt, ${tasks.attempt})`,
      runAt: sql`coalesce(held.run_at, ${tasks.runAt})`,
      ...(releasesHash && { hashHeld: sql`${tasks.hashHeld} and held.status = 'pending'` }),
      payload: sql`coalesce(held.payload, ${tasks.payload})`,
      output: sql`case when held.failure is null then held.output else ${tasks.output} end`,
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
