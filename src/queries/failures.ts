import { type SQL, sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";

/** The column `errors` with one more failure, unless that is null: the latest ten, newest first. */
export function withFailure({ tasks }: Binding, failure: SQL): SQL {
  return sql`case when ${failure} is null then ${tasks.errors}
    else (jsonb_build_array(${failure}) || coalesce(${tasks.errors}, '[]')) - 10 end`;
}
