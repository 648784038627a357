import { expect, test } from "vitest";
import { bench } from "./modules.ts";
import { wholeRun } from "./whole-run.ts";

const { allScenarios } = await bench("scenarios/all.ts");
const { publishableResults } = await bench("publishable.ts");

const scenarios = allScenarios(false);

const read = (run: unknown) => publishableResults(JSON.stringify(run), scenarios);
const refusalOf = (change: (run: any) => void) => {
  const run = wholeRun();
  change(run);
  return () => read(run);
};

test("a whole run may be published", () => {
  expect(read(wholeRun())).toEqual(wholeRun());
  expect(read(wholeRun(6)).scenarios[0].repetitions).toBe(6);
});

test("what does not hold results is refused", () => {
  expect(() => publishableResults("# Title", scenarios)).toThrow("it is not JSON");
  for (const content of [null, [], {}, { scenarios: [] }, { ...wholeRun(), scenarios: [{}] }]) {
    expect(() => read(content)).toThrow("it does not hold the results of a run of this benchmark");
  }
});

test("a run that was not whole is refused", () => {
  const first = (run: any) => run.scenarios[0];
  expect(refusalOf((run) => Object.assign(run, { quick: true }))).toThrow("its run was quick");
  expect(refusalOf((run) => run.scenarios.shift())).toThrow("its run was without enqueue");
  expect(refusalOf((run) => Object.assign(first(run), { name: "other" }))).toThrow("its run was without enqueue");
  expect(refusalOf((run) => run.scenarios.push({ ...first(run), name: "other" }))).toThrow("other is not a scenario");
  expect(refusalOf((run) => first(run).contenders.pop())).toThrow(
    "enqueue was measured of pgqueue; graphile-worker, not of pgqueue; graphile-worker; pg-boss",
  );
  expect(refusalOf((run) => Object.assign(first(run).contenders[0], { figures: {}, error: "lost" }))).toThrow(
    "enqueue failed for pgqueue: lost",
  );
  expect(refusalOf((run) => Object.assign(first(run).contenders[1], { figures: {}, error: "lost" }))).not.toThrow();
  expect(refusalOf((run) => first(run).contenders[2].figures.rate.samples.pop())).toThrow(
    "enqueue was measured 4 times for pg-boss, not 5",
  );
});
