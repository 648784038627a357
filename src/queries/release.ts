import { sql } from "drizzle-orm";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import type { Claim } from "./claimed.ts";
import { checkClaims, held, isHeld, partsOf } from "./held.ts";
import { released } from "./no-claim.ts";
import { announcement } from "./notify.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

/** Gives claims back: pending at the same `run_at`, the attempt uncharged. */
export function release(
  binding: Binding,
  db: Db,
  spec: Spec,
  claims: Claim | readonly Claim[],
): Statement<{ id: number }> {
  const { tasks, notifies } = binding;
  const list = checkClaims("release", "tasks", spec, claims);
  const handle = primary("release", db);

  const rows = held(binding, handle, spec, partsOf(list));
  const announced = announcement(
    handle,
    notifies.onUpdate,
    sql`${spec.queue}::text`,
    sql`from (select 1 from held limit 1) as any_held`,
  );

  return statement(
    handle
      .with(rows, announced)
      .update(tasks)
      .set(released(binding))
      .from(sql`pgqueue_announced`)
      .where(isHeld(binding, spec))
      .returning({ id: tasks.id }),
  );
}
