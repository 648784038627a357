import { sql } from "drizzle-orm";
import { OptionsError } from "../errors.ts";
import { exactJson } from "../tasks/exact-json.ts";
import { encodePayload } from "../tasks/payload.ts";
import { isResult, type Result } from "../tasks/result.ts";
import type { Spec } from "../tasks/spec.ts";
import { type Transition, transition } from "../tasks/transition.ts";
import type { Binding } from "./binding.ts";
import type { Claimed } from "./claimed.ts";
import { isoText, statementTime } from "./clock.ts";
import { withFailure } from "./failures.ts";
import { checkClaims, documentOf, fence, held } from "./held.ts";
import { noClaim } from "./no-claim.ts";
import { type Db, primary, type Statement, statement } from "./statement.ts";

/** How a claimed task ended. */
export interface Outcome<Payload = any> {
  task: Claimed<Payload, any>;
  result: Result;
  /** A changed payload, as the schema's input; stored where the result keeps it. Default: the payload stays. */
  payload?: Payload;
}

/** Applies what `transition` says of each outcome, as far as its claim still stands. */
export function finalize(
  binding: Binding,
  db: Db,
  spec: Spec,
  outcomes: Outcome | readonly Outcome[],
  { wait = false } = {},
): Statement<{ id: number }> {
  const { tasks } = binding;
  const document = outcomeDocument(spec, Array.isArray(outcomes) ? outcomes : [outcomes as Outcome]);
  const handle = primary("finalize", db);

  const columns = sql`
      docs.doc ->> 'status' as status, (docs.doc ->> 'attempt')::int as attempt,
      (docs.doc ->> 'releasesHash')::boolean as releases_hash, (docs.doc ->> 'succeeded')::boolean as succeeded,
      docs.doc -> 'payload' as payload, docs.doc -> 'output' as output,
      (docs.doc -> 'failure') || jsonb_build_object('at', ${isoText(statementTime())}) as failure,
      ${statementTime()} as at,
      ${statementTime()} + (docs.doc ->> 'delay')::float8 * interval '1 millisecond' as run_at`;
  const rows = held(binding, handle, spec, document, { columns, wait });

  return statement(
    handle
      .with(rows)
      .update(tasks)
      .set({
        status: sql`held.status`,
        attempt: sql`held.attempt`,
        runAt: sql`coalesce(held.run_at, ${tasks.runAt})`,
        hashHeld: sql`${tasks.hashHeld} and not held.releases_hash`,
        payload: sql`coalesce(held.payload, ${tasks.payload})`,
        output: sql`case when held.succeeded then nullif(held.output, 'null') else ${tasks.output} end`,
        errors: withFailure(binding, sql`held.failure`),
        finishedAt: sql`case when held.status <> 'pending' then held.at end`,
        ...noClaim,
      })
      .from(sql`held`)
      .where(sql`${tasks.queue} = ${spec.queue} and ${tasks.id} = held.id`)
      .returning({ id: tasks.id }),
  );
}

function outcomeDocument(spec: Spec, outcomes: readonly Outcome[]): string {
  for (const [i, outcome] of outcomes.entries()) {
    if (!isResult(outcome?.result)) {
      throw new OptionsError(`finalize.outcomes[${i}].result`, outcome?.result, "done(), retry(), fail() or skip()");
    }
  }
  const tasks = outcomes.map(({ task }) => task);
  checkClaims("finalize", "outcomes", spec, tasks);
  return documentOf(outcomes.map((outcome) => outcomeMembers(spec, outcome)));
}

function outcomeMembers(spec: Spec, { task, result, payload }: Outcome): string {
  const next: Transition = transition(spec, task, result);
  const members = [
    fence(task),
    `"status":"${next.status}"`,
    `"attempt":${next.attempt}`,
    `"delay":${next.delay}`,
    `"releasesHash":${next.releasesHash}`,
    `"succeeded":${next.output !== undefined}`,
  ];
  if (next.output) members.push(`"output":${exactJson(next.output.value, "output")}`);
  if (next.failure) members.push(`"failure":${JSON.stringify({ attempt: task.attempt, ...next.failure })}`);
  if (payload !== undefined && next.keepsPayload) members.push(`"payload":${encodePayload(spec, payload).json}`);
  return members.join(",");
}
