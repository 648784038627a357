import { type SQL, sql } from "drizzle-orm";
import * as v from "valibot";
import { integerOption } from "../tasks/options.ts";

/** A place in claim order: a claimed task is one. */
export interface Mark {
  readonly priority: number;
  /** `run_at` to the microsecond, as Postgres writes it: a Date has milliseconds. */
  readonly exactRunAt: string;
  readonly id: number;
}

// How it is written depends on the setting DateStyle.
const exactRunAt = v.custom(
  (value) => typeof value === "string" && /^(-?infinity|(?=.*\d)[^"\\{}]{1,64})$/.test(value),
  "the exactRunAt of a claimed task",
);
export const marksOption = v.pipe(
  v.array(v.object({ priority: integerOption(0, 9), exactRunAt, id: integerOption(1, Number.MAX_SAFE_INTEGER) })),
  v.check(
    (marks) => new Set(marks.map(({ priority }) => priority)).size === marks.length,
    "at most one task of each priority",
  ),
);

/** The place in each level of priority after which to read: all of it where there is no mark. */
export function placesOf(marks: readonly Mark[]): { runAts: string; ids: string } {
  const runAts = Array<string>(10).fill("-infinity");
  const ids = Array<number>(10).fill(0);
  for (const { priority, exactRunAt, id } of marks) {
    runAts[priority] = exactRunAt;
    ids[priority] = id;
  }
  return { runAts: `{${runAts.map((runAt) => `"${runAt}"`)}}`, ids: `{${ids}}` };
}

/** Levels of priority, lowest first, with what `placesOf` says of each. */
export function levelsAfter(runAts: SQL, ids: SQL): SQL {
  return sql`unnest('{0,1,2,3,4,5,6,7,8,9}'::smallint[], ${runAts}::text::timestamptz[], ${ids}::text::bigint[])
    as levels(level, after_run_at, after_id)`;
}
