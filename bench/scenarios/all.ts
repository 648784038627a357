import { backlogScenario } from "./backlog.ts";
import { claimScenario } from "./claim.ts";
import { enqueueScenarios } from "./enqueue.ts";
import { latencyScenario } from "./latency.ts";
import { pinnedScenario } from "./pinned.ts";
import { processScenarios } from "./process.ts";
import type { Scenario } from "./scenario.ts";

export function allScenarios(quick: boolean): Scenario[] {
  return [
    ...enqueueScenarios(quick),
    ...processScenarios(quick),
    latencyScenario(quick),
    pinnedScenario(quick),
    claimScenario(quick),
    backlogScenario(quick),
  ];
}
