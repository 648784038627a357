import { StaleClaimError } from "../errors.ts";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import type { Outcome } from "./ends.ts";
import { finalize } from "./finalize.ts";
import type { Db } from "./statement.ts";

/** `finalize` for one task inside a business transaction: it waits for the row, and throws where the claim is over. */
export async function finalizeOrThrow(binding: Binding, db: Db, spec: Spec, outcome: Outcome): Promise<void> {
  const applied = await finalize(binding, db, spec, outcome, { wait: true });
  if (applied.length === 0) throw new StaleClaimError(spec.queue, outcome.task.id);
}
