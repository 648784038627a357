import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { OptionsError } from "../../src/errors.ts";
import {
  checkOptions,
  dateOption,
  durationOption,
  functionOption,
  integerOption,
  nameOption,
  plainObjectOption,
  retriesOption,
} from "../../src/tasks/options.ts";

const schema = v.strictObject({ limit: integerOption(1, 10), at: v.optional(dateOption) });

const accepts = (option: v.GenericSchema, value: unknown) => v.safeParse(option, value).success;

describe("checkOptions", () => {
  test("is silent about good options", () => {
    expect(() => checkOptions("call", schema, { limit: 1 })).not.toThrow();
    expect(() => checkOptions("call", schema, { limit: 10, at: new Date() })).not.toThrow();
  });

  test.each([
    [{ limit: 0 }, "call.limit", 0, "a whole number from 1 to 10"],
    [{ limit: 1, at: "now" }, "call.at", "now", "a valid Date of the years 1 to 9999"],
    [{ limit: 1, attt: 1 }, "call.attt", 1, "one of the options limit, at"],
    [{}, "call.limit", undefined, "a value: it is required"],
    [undefined, "call", undefined, "an object of options"],
    ["limit", "call", "limit", "an object of options"],
  ])("%o is refused by name, value and what was expected", (options, field, value, expected) => {
    const check = () => checkOptions("call", schema, options);
    expect(check).toThrow(OptionsError);
    expect(check).toThrow(expect.objectContaining({ field, value }));
    expect(check).toThrow(`${field}: expected ${expected}, received `);
  });

  test("a check that throws of itself is a refusal too", () => {
    const month = {
      total() {
        throw new RangeError("relativeTo is needed");
      },
    };
    const check = () => checkOptions("call", v.strictObject({ every: durationOption(1) }), { every: month });
    expect(check).toThrow(expect.objectContaining({ name: "OptionsError", field: "call.every", value: month }));
    expect(check).toThrow("relativeTo is needed");
  });
});

test.each([
  ["integerOption", integerOption(0, 9), [0, 9], [-1, 10, 0.5, Number.NaN, "1", 1n, null, undefined, true, []]],
  ["retriesOption", retriesOption, [0, -1, 32_767], [32_768, 1.5, Number.NEGATIVE_INFINITY, Number.NaN, "1", null]],
  [
    "dateOption",
    dateOption,
    [new Date(), new Date("0001-01-01T00:00:00Z"), new Date("9999-12-31T23:59:59.999Z")],
    [
      new Date(Number.NaN),
      new Date("+010000-01-01T00:00:00Z"),
      new Date("0000-12-31T00:00:00Z"),
      5,
      "2027-01-01",
      null,
    ],
  ],
  ["functionOption", functionOption, [() => {}, class {}], [null, "f", {}]],
  ["plainObjectOption", plainObjectOption, [{}, Object.create(null)], [null, [], "x", () => {}]],
  ["nameOption", nameOption, ["q"], ["", "\0", 5, null]],
  ["durationOption", durationOption(10), [10, "10ms", "1s"], [9, "9ms", "1", null]],
] as const)("%s", (_, option, good, bad) => {
  for (const value of good) expect([value, accepts(option, value)]).toEqual([value, true]);
  for (const value of bad) expect([value, accepts(option, value)]).toEqual([value, false]);
});
