import { expect, test } from "vitest";
import { bench } from "./modules.ts";

const { allScenarios } = await bench("scenarios/all.ts");
const { parseCommand } = await bench("command-line.ts");

const names = allScenarios(false).map(({ name }: { name: string }) => name);
const parse = (...args: string[]) => parseCommand(args, names);

test("scenarios are named in one option or several", () => {
  expect(parse("--only", "claim, backlog", "--only", "latency").only).toEqual(["claim", "backlog", "latency"]);
  expect(parse().only).toEqual([]);
  expect(() => parse("--only", "")).toThrow('There is no scenario "".');
  expect(() => parse("--only", "claim,")).toThrow('There is no scenario "".');
  expect(() => parse("--only", "clam")).toThrow('There is no scenario "clam".');
});

test("repetitions have a minimum, which is less for a quick run", () => {
  expect([parse().repetitions, parse("--quick").repetitions]).toEqual([5, 2]);
  expect(parse("--repetitions", "1", "--quick").repetitions).toBe(1);
  expect(() => parse("--repetitions", "4")).toThrow("not a number of 5 or more");
  expect(() => parse("--repetitions", "0", "--quick")).toThrow("not a number of 1 or more");
});

test("--publish stands alone", () => {
  expect(parse("--publish", "results.json").publish).toBe("results.json");
  for (const others of [["--quick"], ["--gate"], ["--only", "claim"], ["--json", "x"], ["--repetitions", "5"]]) {
    expect(() => parse("--publish", "results.json", ...others)).toThrow(`${others[0]} cannot be given with it`);
  }
  expect(() => parse("--publish", "")).toThrow("--publish needs the name of a file");
});

test("--gate needs a scenario that it has a row for", () => {
  expect(parse("--gate", "--only", "slow-handlers,claim").gate).toBe(true);
  expect(() => parse("--gate", "--only", "slow-handlers,enqueue")).toThrow("no row for slow-handlers, enqueue.");
});

test("a quick run is no gate", () => {
  expect(() => parse("--gate", "--quick")).toThrow("A quick run is no gate");
  expect(parse("--gate").gate).toBe(true);
});
