import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import type { Claim } from "./claimed.ts";
import { statementTime } from "./clock.ts";
import { checkClaims, held, isHeld, partsOf } from "./held.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

/** Writes down that the handlers begin: `reap` charges a task with an earlier failure only if it did. */
export function markStarted(
  binding: Binding,
  db: Db,
  spec: Spec,
  claims: Claim | readonly Claim[],
): Statement<{ id: number }> {
  const { tasks } = binding;
  const list = checkClaims("markStarted", "tasks", spec, claims);
  const handle = primary("markStarted", db);

  const rows = held(binding, handle, spec, partsOf(list));

  return statement(
    handle
      .with(rows)
      .update(tasks)
      .set({ startedAt: statementTime() })
      .where(isHeld(binding, spec))
      .returning({ id: tasks.id }),
  );
}
