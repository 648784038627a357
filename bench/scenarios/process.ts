import { type Contender, contenders, firstToOthers, type Scenario } from "./scenario.ts";
import { type WorkingOptions, workOff } from "./working.ts";

export function processScenarios(quick: boolean): Scenario[] {
  const tasks = quick ? 20_000 : 50_000;
  const warmUp = quick ? 5_000 : 20_000;
  const withFloor = contenders(["pgqueue", "floor", "graphile-worker", "pg-boss"], "best", tasks);
  const withoutFloor = contenders(["pgqueue", "graphile-worker", "pg-boss"], "best", tasks);
  const slow = contenders(["pgqueue", "graphile-worker", "pg-boss"], "slow handlers", quick ? 5_000 : 20_000);
  return [
    scenario("process", "Trivial tasks, one process, rows kept", withFloor, { warmUp }),
    scenario("process-two", "Trivial tasks, two processes, rows kept", withFloor, { warmUp, processes: 2 }),
    scenario("process-deleting", "Trivial tasks, one process, rows deleted", withoutFloor, { warmUp, deletes: true }),
    processDefault(quick, tasks),
    scenario("slow-handlers", "Handlers of 5 ms, 50 at once", slow, { warmUp: 1_000, handlerTime: 5 }),
  ];
}

function scenario(name: string, title: string, contenders: Contender[], options: WorkingOptions): Scenario {
  return {
    name,
    title,
    metric: "rate",
    contenders,
    comparisons: firstToOthers(contenders, "rate"),
    measure: (databases, contender) => workOff(databases, contender, options),
  };
}

/** pg-boss takes one task in two seconds by default, so that it is measured by a few, and without a warm-up. */
function processDefault(quick: boolean, tasks: number): Scenario {
  const all = [
    ...contenders(["pgqueue", "graphile-worker"], "default", quick ? tasks / 2 : tasks),
    ...contenders(["pg-boss"], "default", quick ? 3 : 5),
  ];
  return {
    ...scenario("process-default", "Trivial tasks, one process, default settings", all, { warmUp: 0 }),
    measure: (databases, contender) =>
      workOff(databases, contender, { warmUp: contender.side === "pg-boss" ? 0 : 2_000 }),
  };
}
