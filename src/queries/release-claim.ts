import { sql } from "drizzle-orm";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import type { ClaimToken } from "./claimed.ts";
import { released } from "./release.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

/** Gives back whatever a claim took whose reply was lost, known by the token it was sent with. */
export function releaseClaim(binding: Binding, db: Db, spec: Spec, token: ClaimToken): Statement<{ id: number }> {
  const { tasks } = binding;
  const handle = primary("releaseClaim", db);

  const taken = handle.$with("taken", { id: sql<number>`id` }).as(sql`
    select ${tasks.id} from ${tasks}
    where ${tasks.queue} = ${spec.queue} and ${tasks.status} = 'running' and ${tasks.claimToken} = ${token}::uuid
    for no key update skip locked`);

  return statement(
    handle
      .with(taken)
      .update(tasks)
      .set({ ...released, attempt: sql`greatest(${tasks.attempt} - 1, 0)` })
      .where(sql`${tasks.queue} = ${spec.queue} and ${tasks.id} = any(array(select id from taken))`)
      .returning({ id: tasks.id }),
  );
}
