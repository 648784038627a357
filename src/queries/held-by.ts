import { sql } from "drizzle-orm";
import type { TaskStatus } from "../schema/columns.ts";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import type { Claim } from "./claimed.ts";
import { checkClaims, idsOf, isOneOf } from "./held.ts";
import { type Db, primary, uncached } from "./statement.ts";

/** `busy`: still held, its row locked by another transaction a moment ago. `lost`: held no more. `gone`: no such row. */
export type Holding = "busy" | "lost" | "gone";

/** What became of a claim. */
export interface HeldTask {
  readonly id: number;
  readonly holding: Holding;
  /** The status of the row, where there is one. */
  readonly status?: TaskStatus;
}

/** What became of the tasks that a bulk statement did not apply, in the order given. */
export async function heldBy({ tasks }: Binding, db: Db, spec: Spec, claims: readonly Claim[]): Promise<HeldTask[]> {
  // One process may hold two claims of a task: an old one whose handler is deaf, and a new one.
  checkClaims("heldBy", "tasks", spec, claims, { repeats: true });
  if (claims.length === 0) return [];
  const isNamed = sql`${tasks.queue} = ${spec.queue} and ${isOneOf(tasks.id, idsOf(claims))}`;
  const rows = await uncached(
    primary("heldBy", db)
      .select({ id: tasks.id, token: tasks.claimToken, claims: tasks.claims, status: tasks.status })
      .from(tasks)
      .where(isNamed),
  );
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  return claims.map(({ id, token, claims }) => {
    const row = rowOf.get(id);
    if (!row) return { id, holding: "gone" };
    return { id, holding: row.token === token && row.claims === claims ? "busy" : "lost", status: row.status };
  });
}
