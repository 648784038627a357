import { OptionsError } from "../errors.ts";

type Unit = "ms" | "s" | "m" | "h" | "d" | "w";

/** Anything that tells its length in milliseconds, such as a `Temporal.Duration`. */
export interface TotalDuration {
  total(unit: "milliseconds"): number;
}

/** Milliseconds, or a string such as `"250ms"`, `"5s"`, `"1.5h"`, or a `Temporal.Duration`. */
export type Duration = number | `${number}${Unit}` | TotalDuration;

const unitLengths: Record<Unit, number> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A hundred years: the sum of any moment in use and this stays within timestamptz. */
export const longestDuration = 36_525 * unitLengths.d;

/**
 * The whole milliseconds of a duration, checked.
 *
 * @param field what the error names, for example `defineJob.retryDelay`
 * @throws OptionsError when it is not a duration from `least` (default 0) to a hundred years.
 */
export function milliseconds(field: string, duration: Duration, least = 0): number {
  const given = lengthOf(duration);
  const length = Math.round(given);
  if (given >= 0 && length >= least && length <= longestDuration) return length;
  const floor = least > 0 ? `, at least ${least} ms` : "";
  throw new OptionsError(field, duration, `milliseconds or a duration such as "5s"${floor}, at most a hundred years`);
}

function lengthOf(duration: unknown): number {
  if (typeof duration === "number") return duration;
  if (typeof duration === "string") {
    const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(duration);
    return parts ? Number(parts[1]) * unitLengths[parts[2] as Unit] : Number.NaN;
  }
  if (
    typeof duration === "object" &&
    duration !== null &&
    "total" in duration &&
    typeof duration.total === "function"
  ) {
    return Number(duration.total("milliseconds"));
  }
  return Number.NaN;
}
