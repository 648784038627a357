import { sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";

const none = sql`null`;

/** What ends a claim, whoever ends it. */
export const noClaim = { claimToken: none, claimedBy: none, claimedAt: none, leaseUntil: none, startedAt: none };

/** What gives a claim back: pending at the same `run_at`, the attempt uncharged. */
export function released({ tasks }: Binding) {
  return { status: sql`'pending'`, attempt: sql`greatest(${tasks.attempt} - 1, 0)`, ...noClaim };
}
