import { type SQL, sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";

/** The id and status of whatever holds a hash. In a repeatable-read transaction two rows may; the later one does. */
export function holderOf({ tasks }: Binding, queue: string, hash: SQL): SQL {
  return sql`select ${tasks.id} as id, ${tasks.status} as status from ${tasks}
    where ${tasks.queue} = ${queue}::text and ${tasks.hash} = ${hash} and ${tasks.hashHeld}
    order by ${tasks.id} desc limit 1`;
}
