import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OptionsError } from "../../src/errors.ts";
import { type Duration, longestDuration, milliseconds } from "../../src/tasks/duration.ts";

const day = 86_400_000;
const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: day, w: 7 * day };

describe("milliseconds", () => {
  test.each([
    [0, 0],
    [1, 1],
    [1.4, 1],
    [1.5, 2],
    ["0ms", 0],
    ["250ms", 250],
    ["5s", 5_000],
    ["5m", 300_000],
    ["1h", 3_600_000],
    ["1d", day],
    ["1w", 7 * day],
    ["1.5h", 5_400_000],
    ["0.5s", 500],
    ["2.5ms", 3],
    ["0.25d", day / 4],
    ["007s", 7_000],
  ] as [Duration, number][])("%j is %i ms", (duration, length) => {
    expect(milliseconds("f", duration)).toBe(length);
  });

  test("asks an object such as a Temporal.Duration for its total", () => {
    const asked: string[] = [];
    const duration = {
      total(unit: "milliseconds") {
        asked.push(unit);
        return 90_000.4;
      },
    };
    expect(milliseconds("f", duration)).toBe(90_000);
    expect(asked).toEqual(["milliseconds"]);
  });

  test("every whole number of a unit is exact", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 5_000 }),
        fc.constantFrom(...Object.entries(units)),
        (n, [unit, length]) => {
          expect(milliseconds("f", `${n}${unit}` as Duration)).toBe(n * length);
        },
      ),
    );
  });

  test("a result is a duration of the same length, however it is written", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: longestDuration, noNaN: true }), (given) => {
        const length = milliseconds("f", given);
        expect(Number.isSafeInteger(length)).toBe(true);
        expect(Math.abs(length - given)).toBeLessThanOrEqual(0.5);
        for (const same of [length, `${length}ms`, { total: () => length }] as Duration[]) {
          expect(milliseconds("f", same)).toBe(length);
        }
      }),
    );
  });

  test.each([
    "",
    " ",
    "5",
    "s",
    "-5m",
    "+5m",
    "5 m",
    " 5m",
    "5m ",
    "5m\n",
    "5M",
    "5min",
    "5 minutes",
    "1h30m",
    ".5s",
    "5.s",
    "1e3ms",
    "0x5s",
    "1_000ms",
    "5,5s",
    "٥s",
    "NaNs",
    "Infinitys",
    "PT5M",
    "36526d",
    -1,
    -0.4,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    longestDuration + 1,
    5n,
    true,
    null,
    undefined,
    Symbol("5s"),
    [5],
    ["5s"],
    {},
    () => 5,
    new Date(5),
    { total: 5 },
    { total: () => "5s" },
    { total: () => Number.NaN },
    { total: () => -1 },
    { total: () => undefined },
    { milliseconds: 5 },
  ])("refuses %o", (value) => {
    const refusal = refusalOf(() => milliseconds("call.field", value as Duration));
    expect(refusal.field).toBe("call.field");
    expect(refusal.value).toBe(value);
    expect(refusal.message).toMatch(/^call\.field: expected milliseconds or a duration such as "5s", .*, received /);
  });

  test("reaches to a hundred years, and no further", () => {
    expect(longestDuration).toBe(36_525 * day);
    expect(milliseconds("f", longestDuration)).toBe(longestDuration);
    expect(milliseconds("f", "36525d")).toBe(longestDuration);
    expect(() => milliseconds("f", "36525.1d")).toThrow("at most a hundred years");
  });

  test("has a least where the caller says so", () => {
    expect(milliseconds("f", 1, 1)).toBe(1);
    expect(milliseconds("f", "10ms", 10)).toBe(10);
    for (const short of [0, "0s", 0.4, "0.1ms"] as Duration[]) {
      expect(() => milliseconds("f", short, 1)).toThrow("f: expected milliseconds or a duration");
      expect(() => milliseconds("f", short, 1)).toThrow("at least 1 ms");
    }
  });
});

function refusalOf(run: () => unknown): OptionsError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError);
    return error as OptionsError;
  }
  throw new Error("it was accepted");
}
