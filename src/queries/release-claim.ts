import { sql } from "drizzle-orm";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { type ClaimToken, checkToken } from "./claimed.ts";
import { released } from "./no-claim.ts";
import { announcement } from "./notify.ts";
import { checkSpec } from "./of-spec.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

/** Gives back whatever a claim took whose reply was lost, known by the token it was sent with. */
export function releaseClaim(binding: Binding, db: Db, spec: Spec, token: ClaimToken): Statement<{ id: number }> {
  checkSpec("releaseClaim", spec);
  checkToken("releaseClaim.token", token);
  const { tasks, notifies } = binding;
  const handle = primary("releaseClaim", db);

  const taken = handle.$with("taken", { id: sql<number>`id` }).as(sql`
    select ${tasks.id} from ${tasks}
    where ${tasks.queue} = ${spec.queue} and ${tasks.status} = 'running' and ${tasks.claimToken} = ${token}::uuid
    for no key update skip locked`);
  const announced = announcement(
    handle,
    notifies.onUpdate,
    sql`${spec.queue}::text`,
    sql`from (select 1 from taken limit 1) as any_taken`,
  );

  return statement(
    handle
      .with(taken, announced)
      .update(tasks)
      .set(released(binding))
      .from(sql`pgqueue_announced`)
      .where(sql`${tasks.queue} = ${spec.queue} and ${tasks.id} = any(array(select id from taken))`)
      .returning({ id: tasks.id }),
  );
}
