import { sql } from "drizzle-orm";
import { type Duration, milliseconds } from "../tasks/duration.ts";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import type { Claim } from "./claimed.ts";
import { after } from "./clock.ts";
import { checkClaims, held, isHeld, partsOf } from "./held.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

/** Moves the end of the lease to `duration` from now, or leaves it where it is later. */
export function extendLease(
  binding: Binding,
  db: Db,
  spec: Spec,
  claims: Claim | readonly Claim[],
  duration?: Duration,
): Statement<{ id: number; leaseUntil: Date }> {
  const { tasks } = binding;
  const list = checkClaims("extendLease", "tasks", spec, claims);
  const until = after(milliseconds("extendLease.duration", duration ?? spec.leaseDuration, 1));
  const handle = primary("extendLease", db);

  const rows = held(binding, handle, spec, partsOf(list));

  return statement(
    handle
      .with(rows)
      .update(tasks)
      .set({ leaseUntil: sql`greatest(clock.until, ${tasks.leaseUntil})` })
      .from(sql`(select ${until} as until) as clock`)
      .where(isHeld(binding, spec))
      .returning({ id: tasks.id, leaseUntil: tasks.leaseUntil }),
  );
}
