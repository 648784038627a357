import type { Outcome } from "../queries/ends.ts";

/** About how much memory an outcome takes until it is written, in characters of JSON. */
export function weightOf({ result, payload }: Outcome): number {
  return jsonLength(payload) + (result.type === "done" ? jsonLength(result.output) : 0);
}

/** Of a value of the user's; 0 where it has no JSON, which is told when it is written. */
export function jsonLength(value: unknown): number {
  if (value === undefined || value === null) return 0;
  if (typeof value === "string") return value.length;
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return 0;
  }
}
