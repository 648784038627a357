import { expect, test } from "vitest";
import { bench } from "./modules.ts";

const { scenarioResult } = await bench("results.ts");
const { resultTables } = await bench("table.ts");

const contender = (name: string) => ({ name, side: name, tuning: "best", tasks: 1_000 });
const scenario = {
  name: "process",
  title: "Trivial tasks",
  metric: "rate",
  contenders: [contender("pgqueue"), contender("pg-boss")],
  comparisons: [{ of: "pgqueue", to: "pg-boss", metric: "rate" }],
};
const settings = { worker: {}, boss: { max: 20 } };
const result = (measured: Record<string, unknown>) =>
  scenarioResult(scenario, new Map(Object.entries(measured)), () => settings);

test("figures are summed up by metric, and ratios are those of each repetition", () => {
  const { repetitions, contenders, comparisons } = result({
    pgqueue: { figures: [{ rate: 10, walBytes: 5 }, { rate: 40, walBytes: 7 }, { rate: 90 }] },
    "pg-boss": { figures: [{ rate: 10 }, { rate: 10 }, { rate: 10 }] },
  });
  expect(repetitions).toBe(3);
  expect(contenders[0]).toEqual({
    ...contender("pgqueue"),
    settings,
    figures: {
      rate: { median: 40, min: 10, max: 90, samples: [10, 40, 90] },
      walBytes: { median: 6, min: 5, max: 7, samples: [5, 7] },
    },
  });
  expect(comparisons).toEqual([
    { of: "pgqueue", to: "pg-boss", metric: "rate", ratio: { median: 4, min: 1, max: 9, samples: [1, 4, 9] } },
  ]);
});

test("one that failed has an error in the place of its figures, and its comparisons have no ratio", () => {
  const { repetitions, contenders, comparisons } = result({ pgqueue: { figures: [{ rate: 10 }] } });
  expect(repetitions).toBe(1);
  expect(contenders[1]).toMatchObject({ name: "pg-boss", figures: {}, error: "not measured" });
  expect(comparisons).toEqual(scenario.comparisons);
});

test("the table", () => {
  const measured = { pgqueue: { figures: [{ rate: 10 }] }, "pg-boss": { error: "lost a task" } };
  expect(resultTables({ scenarios: [result(measured)] })).toMatchInlineSnapshot(`
    "### process: Trivial tasks

    |         | tasks | tasks/s (min to max) |
    | ------- | ----: | -------------------: |
    | pgqueue | 1,000 |        10 (10 to 10) |
    | pg-boss | 1,000 |               failed |

    - pg-boss failed: lost a task

    - pgqueue to pg-boss, tasks/s: none, since one has failed

    - pgqueue (best): {"boss":{"max":20}}
    - pg-boss (best): {"boss":{"max":20}}

    Measured once."
  `);
  const twice = { figures: [{ rate: 10 }, { rate: 20 }] };
  expect(resultTables({ scenarios: [result({ pgqueue: twice, "pg-boss": twice })] })).toContain(
    "Medians of 2 repetitions",
  );
});
