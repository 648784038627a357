import { type SQL, sql } from "drizzle-orm";
import { OptionsError } from "../errors.ts";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";

/** The rows that belong to a spec: the jobs of its queue, or the one ticker of its key. */
export function ofSpec({ tasks }: Binding, spec: Spec): SQL {
  if (spec.kind === "job") return sql`${tasks.queue} = ${spec.queue} and ${tasks.kind} = 'job'`;
  return sql`${tasks.queue} = ${spec.queue} and ${tasks.kind} = 'ticker' and ${tasks.key} = ${spec.key}`;
}

/** @throws OptionsError when it was not made by defineJob or defineTicker. */
export function checkSpec(call: string, spec: Spec): void {
  if (spec?.kind === "job" || spec?.kind === "ticker") return;
  throw new OptionsError(`${call}.spec`, spec, "a spec made by defineJob or defineTicker");
}
