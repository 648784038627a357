import { sql } from "drizzle-orm";
import type { Binding } from "./binding.ts";
import { statementTime } from "./clock.ts";
import { revive } from "./revive.ts";
import type { Db, Statement } from "./statement.ts";
import type { Task } from "./task.ts";

export function enable(binding: Binding, db: Db, id: number): Statement<Task> {
  const when = sql`${binding.tasks.status} in ('failed', 'disabled')`;
  return revive("enable", binding, db, id, { when, runAt: statementTime() });
}
