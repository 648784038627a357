import type { Claimed } from "../queries/claimed.ts";
import type { Host, Registration } from "./host.ts";
import { insist } from "./insist.ts";
import type { Run } from "./run.ts";

/**
 * Whether it is written down that the handler begins, before it does. It is where a crash would otherwise cost a task that
 * never began more than one of several tries: after an earlier failure, and at the last try.
 */
export function mustBeMarked({ spec }: Registration, { attempt, maxRetries }: Claimed): boolean {
  return attempt > 1 || attempt > (maxRetries ?? spec.maxRetries);
}

/**
 * Writes it down, and resolves to whether it is. Each task by itself: those that were to begin after a handler that ends the
 * process would lose a try as well.
 */
export function mark(host: Host, { spec }: Registration, run: Run, isWanted: () => boolean): Promise<boolean> {
  const { db, pgqueue } = host;
  return insist(host, spec, [run], (tasks) => pgqueue.markStarted(db, spec, tasks), isWanted);
}
