import { sql } from "drizzle-orm";
import * as v from "valibot";
import { checkOptions, dateOption } from "../tasks/options.ts";
import type { Binding } from "./binding.ts";
import { moment, statementTime } from "./clock.ts";
import { revive } from "./revive.ts";
import type { Db, Statement } from "./statement.ts";
import type { Task } from "./task.ts";

const requeueOptions = v.object({ runAt: v.optional(dateOption) });

export function requeue(binding: Binding, db: Db, id: number, runAt?: Date): Statement<Task> {
  checkOptions("requeue", requeueOptions, { runAt });
  const when = sql`${binding.tasks.status} <> 'running'`;
  return revive("requeue", binding, db, id, { when, runAt: runAt ? moment(runAt) : statementTime() });
}
