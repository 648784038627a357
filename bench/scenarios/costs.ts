import type { WorkReport } from "../activities/work.ts";
import type { ServerWork } from "../databases.ts";
import type { Figures } from "../metrics.ts";

/** What the work between two looks at the server cost, and the clients' CPU in milliseconds, for each task. */
export function costs(before: ServerWork, after: ServerWork, clientCpu: number, tasks: number): Figures {
  return {
    workerCpu: (clientCpu / tasks) * 1_000,
    ...(before.cpu === undefined || after.cpu === undefined
      ? {}
      : { serverCpu: ((after.cpu - before.cpu) / tasks) * 1_000 }),
    walBytes: (after.walBytes - before.walBytes) / tasks,
    statements: (after.statements - before.statements) / tasks,
  };
}

/** The same of workers, and the most memory that one of them held. */
export function workersCosts(
  before: ServerWork,
  after: ServerWork,
  reports: readonly WorkReport[],
  tasks: number,
): Figures {
  const cpu = reports.reduce((sum, report) => sum + report.cpu, 0);
  const peakMemory = Math.max(...reports.map(({ peakMemory }) => peakMemory)) / 1_000_000;
  return { ...costs(before, after, cpu, tasks), peakMemory };
}
