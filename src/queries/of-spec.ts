import { type SQL, sql } from "drizzle-orm";
import type { Spec, TickerSpec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";

/** The rows that belong to a spec: the jobs of its queue, or the one ticker of its key. */
export function ofSpec({ tasks }: Binding, spec: Spec): SQL {
  if (spec.kind === "job") return sql`${tasks.queue} = ${spec.queue} and ${tasks.kind} = 'job'`;
  return sql`${tasks.queue} = ${spec.queue} and ${tasks.kind} = 'ticker' and ${tasks.key} = ${(spec as TickerSpec).key}`;
}
