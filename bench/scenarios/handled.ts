import type { WorkReport } from "../activities/work.ts";

type Seen = Pick<WorkReport, "seen">;

/** @throws when a task was not handled exactly once, by all workers together. */
export function checkOnce(reports: readonly Seen[], tasks: number): void {
  const wrong = Array.from({ length: tasks }, (_, n) => timesHandled(reports, n)).filter((times) => times !== 1);
  if (wrong.length > 0) throw new Error(`${wrong.length} of ${tasks} tasks were not handled exactly once.`);
}

/** @throws when a task was handled more than once, by all workers together. */
export function checkAtMostOnce(reports: readonly Seen[]): void {
  const tasks = reports[0]?.seen.length ?? 0;
  const wrong = Array.from({ length: tasks }, (_, n) => timesHandled(reports, n)).filter((times) => times > 1);
  if (wrong.length > 0) throw new Error(`${wrong.length} tasks were handled more than once.`);
}

function timesHandled(reports: readonly Seen[], n: number): number {
  return reports.reduce((sum, { seen }) => sum + seen[n]!, 0);
}
