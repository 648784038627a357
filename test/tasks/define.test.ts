import { type } from "arktype";
import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { OptionsError, PayloadError } from "../../src/errors.ts";
import { defineJob, defineTicker } from "../../src/tasks/define.ts";
import { longestDuration } from "../../src/tasks/duration.ts";

const payload = v.object({ cursor: v.number() });
const job = (options: object = {}) => defineJob({ queue: "q", payload, ...options });
const ticker = (options: object = {}) =>
  defineTicker({ queue: "q", key: "k", payload, initialPayload: { cursor: 0 }, every: "1m", ...options });
const without = (field: string) => {
  const { [field]: _, ...rest } = {
    queue: "q",
    key: "k",
    payload,
    initialPayload: { cursor: 0 },
    every: "1m",
  } as Record<string, unknown>;
  return rest as never;
};

function refusalOf(run: () => unknown): OptionsError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError);
    return error as OptionsError;
  }
  throw new Error("it was accepted");
}

/** That the error names the call, the field and the value. */
function expectRefused(run: () => unknown, field: string, value: unknown): void {
  const refusal = refusalOf(run);
  expect(refusal.field).toBe(field);
  expect(refusal.value).toBe(value);
  expect(refusal.message).toMatch(new RegExp(`^${field}: expected \\S.*, received \\S`, "s"));
  expect(refusal.message).not.toMatch(/expected .*(undefined|object Object).*, received/);
  expect(refusal.code).toBe("PGQUEUE_OPTIONS");
}

const kinds = [
  ["defineJob", job],
  ["defineTicker", ticker],
] as const;

describe.each(kinds)("defaults of %s", (_, define) => {
  test.each([
    ["pollInterval", 5_000],
    ["maxRetries", 3],
    ["retryDelay", 30_000],
    ["leaseDuration", 300_000],
    ["finalizeBuffer", 10_000],
    ["encode", undefined],
  ] as const)("%s is %s", (option, value) => {
    expect(define()[option]).toBe(value);
    expect(define({ [option]: undefined })[option]).toBe(value);
  });

  test.each([
    ["pollInterval", "250ms", 250],
    ["pollInterval", 1, 1],
    ["pollInterval", longestDuration, longestDuration],
    ["retryDelay", 0, 0],
    ["retryDelay", "1.5h", 5_400_000],
    ["leaseDuration", "1d", 86_400_000],
    ["leaseDuration", 1, 1],
    ["leaseDuration", { total: () => 60_000 }, 60_000],
    ["finalizeBuffer", 0, 0],
    ["finalizeBuffer", "299s", 299_000],
    ["maxRetries", 0, 0],
    ["maxRetries", 1, 1],
    ["maxRetries", 32_767, 32_767],
    ["maxRetries", -1, 3],
    ["maxRetries", -1_000_000, 3],
  ])("%s %j becomes %i", (option, given, value) => {
    expect(define({ [option]: given })).toHaveProperty(option, value);
  });

  test("is a frozen value", () => {
    expect(define()).toSatisfy(Object.isFrozen);
  });
});

describe("finalizeBuffer", () => {
  test.each([
    ["5m", 10_000],
    ["40s", 10_000],
    ["39s", 9_750],
    ["10s", 2_500],
    ["1s", 250],
    [5, 1],
    [4, 1],
    [3, 0],
    [1, 0],
  ])("is at most a quarter of a lease of %s: %i ms", (leaseDuration, buffer) => {
    for (const [, define] of kinds) expect(define({ leaseDuration }).finalizeBuffer).toBe(buffer);
  });

  test("leaves at least three quarters of any lease, unless given", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: longestDuration }), (leaseDuration) => {
        const { finalizeBuffer } = job({ leaseDuration });
        expect(finalizeBuffer).toBe(Math.min(10_000, Math.floor(leaseDuration / 4)));
        expect(finalizeBuffer).toBeLessThan(leaseDuration);
      }),
    );
  });

  test("may be more than a quarter when given", () => {
    expect(job({ leaseDuration: "10s", finalizeBuffer: "9990ms" }).finalizeBuffer).toBe(9_990);
    expect(job({ leaseDuration: 10, finalizeBuffer: 0 }).finalizeBuffer).toBe(0);
  });

  test.each([
    ["10s", "9991ms"],
    ["10s", "10s"],
    ["10s", "11s"],
    ["1s", 1_000],
    [1, 1],
    [undefined, "5m"],
    [undefined, "1w"],
  ])("that leaves no time of a lease of %s is refused: %s", (leaseDuration, finalizeBuffer) => {
    for (const [call, define] of kinds) {
      expectRefused(() => define({ leaseDuration, finalizeBuffer }), `${call}.finalizeBuffer`, finalizeBuffer);
      expect(() => define({ leaseDuration, finalizeBuffer })).toThrow("expected at least 10 ms less than the lease of");
    }
  });
});

describe("a job", () => {
  test.each([
    [undefined, "retained"],
    ["retained", "retained"],
    ["active", "active"],
  ])("dedup %s becomes %s", (dedup, value) => {
    expect(job({ dedup }).dedup).toBe(value);
  });

  test("has what it was given", () => {
    const hash = () => "h";
    const encode = (out: { cursor: number }) => out;
    expect(job({ hash, encode, dedup: "active" })).toStrictEqual({
      kind: "job",
      queue: "q",
      schema: payload,
      encode,
      hash,
      dedup: "active",
      retain: { completed: 86_400_000, failed: Number.POSITIVE_INFINITY },
      pollInterval: 5_000,
      maxRetries: 3,
      retryDelay: 30_000,
      leaseDuration: 300_000,
      finalizeBuffer: 10_000,
    });
    expect(job().hash).toBeUndefined();
  });

  test.each([
    ["valibot", v.string()],
    ["zod", z.string()],
    ["arktype, a function", type("string")],
    ["any Standard Schema", { "~standard": { version: 1, vendor: "own", validate: (value: unknown) => ({ value }) } }],
  ])("takes a schema of %s", (_, schema) => {
    expect(job({ payload: schema }).schema).toBe(schema);
  });
});

describe("a ticker", () => {
  test("has what it was given", () => {
    const columns = { tenantId: "t" };
    const initialPayload = { cursor: 7 };
    expect(ticker({ every: "5m", columns, initialPayload })).toStrictEqual({
      kind: "ticker",
      queue: "q",
      key: "k",
      schema: payload,
      encode: undefined,
      initialPayload,
      every: 300_000,
      columns,
      pollInterval: 5_000,
      maxRetries: 3,
      retryDelay: 30_000,
      leaseDuration: 300_000,
      finalizeBuffer: 10_000,
    });
    expect(ticker().columns).toEqual({});
  });

  test("its initial payload is the schema's input", () => {
    const schema = z.object({ at: z.string().transform((s) => new Date(s)) });
    const initialPayload = { at: "2027-01-01" };
    expect(ticker({ payload: schema, initialPayload }).initialPayload).toBe(initialPayload);
    const refused = () => ticker({ payload: schema, initialPayload: { at: 5 } });
    expect(refused).toThrow(PayloadError);
    expect(refused).toThrow(expect.objectContaining({ path: "initialPayload.at" }));
  });

  test.each([
    [undefined, "initialPayload"],
    [{ cursor: 1n }, "initialPayload.cursor"],
    [{ cursor: Number.NaN }, "initialPayload.cursor"],
    [{ cursor: 0, at: new Date(0) }, "initialPayload.at"],
    [{ cursor: 0, text: "\0" }, "initialPayload.text"],
    [{ cursor: "0" }, "initialPayload.cursor"],
    [{}, "initialPayload.cursor"],
    [null, "initialPayload"],
  ])("an initial payload that cannot be used is refused: %o", (initialPayload, path) => {
    const refused = () => ticker({ initialPayload });
    expect(refused).toThrow(PayloadError);
    expect(refused).toThrow(expect.objectContaining({ path }));
  });

  test("a schema that validates asynchronously is refused", () => {
    const schema = v.pipeAsync(
      payload,
      v.checkAsync(async () => true),
    );
    expectRefused(() => ticker({ payload: schema }), "q.payload", schema);
  });
});

describe("bad options", () => {
  const names = [
    "",
    "x".repeat(513),
    "é".repeat(257),
    "€".repeat(171),
    "a\0b",
    "\ud800",
    undefined,
    null,
    5,
    true,
    {},
    ["q"],
    Symbol("q"),
  ];
  const durations = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    -1,
    -0.4,
    longestDuration + 1,
    "5",
    "-5m",
    "5 m",
    "5min",
    "",
    null,
    true,
    5n,
    {},
    [],
    { total: () => Number.NaN },
    { total: "5s" },
    new Date(0),
  ];
  const functions = [null, "h", 5, {}, true, []];
  const bad: Record<string, unknown[]> = {
    queue: names,
    payload: [undefined, null, "string", 5, {}, [], () => true, { "~standard": null }, { "~standard": {} }],
    encode: functions,
    pollInterval: [...durations, 0, "0s", 0.4],
    maxRetries: [
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      -0.5,
      32_768,
      "3",
      "",
      5n,
      null,
      [],
    ],
    retryDelay: durations,
    leaseDuration: [...durations, 0, "0ms", 0.4],
    finalizeBuffer: durations,
  };
  const badOfJobs = { ...bad, hash: functions, dedup: ["always", "", null, true, ["active"]] };
  const badOfTickers = {
    ...bad,
    key: names,
    every: [...durations, 0, "0h", 0.4, undefined],
    columns: [null, "x", 5, [], () => ({})],
  };
  const cases = [
    ...Object.entries(badOfJobs).flatMap(([field, values]) =>
      values.map((value) => ["defineJob", field, value] as const),
    ),
    ...Object.entries(badOfTickers).flatMap(([field, values]) =>
      values.map((value) => ["defineTicker", field, value] as const),
    ),
  ];

  test.each(cases)("%s.%s: %o", (call, field, value) => {
    const define = call === "defineJob" ? job : ticker;
    expectRefused(() => define({ [field]: value }), `${call}.${field}`, value);
  });

  test.each([
    ["defineJob", "prio"],
    ["defineJob", "every"],
    ["defineJob", "key"],
    ["defineJob", "initialPayload"],
    ["defineJob", "columns"],
    ["defineJob", "Queue"],
    ["defineJob", "constructor"],
    ["defineTicker", "prio"],
    ["defineTicker", "hash"],
    ["defineTicker", "dedup"],
    ["defineTicker", "cron"],
  ])("%s has no option %s", (call, option) => {
    const define = call === "defineJob" ? job : ticker;
    expectRefused(() => define({ [option]: undefined }), `${call}.${option}`, undefined);
    expect(() => define({ [option]: 5 })).toThrow(
      new RegExp(`^${call}.${option}: expected one of the options queue, payload, .*, received 5$`),
    );
  });

  test("what is required", () => {
    expectRefused(() => defineJob({ payload } as never), "defineJob.queue", undefined);
    expectRefused(() => defineJob({ queue: "q" } as never), "defineJob.payload", undefined);
    for (const field of ["queue", "key", "payload", "initialPayload", "every"]) {
      expectRefused(() => defineTicker(without(field)), `defineTicker.${field}`, undefined);
    }
  });

  test.each([[undefined], [null], ["q"], [5], [() => {}]])("options that are none: %o", (options) => {
    expectRefused(() => defineJob(options as never), "defineJob", options);
    expectRefused(() => defineTicker(options as never), "defineTicker", options);
  });

  test("a value is shown, in short", () => {
    const message = (queue: unknown) => refusalOf(() => job({ queue })).message.replace(/.*, received /, "");
    expect(message("x".repeat(600))).toBe(`"${"x".repeat(80)}…"`);
    expect(message("a\0b")).toBe('"a\\u0000b"');
    expect(message(5n)).toBe("5n");
    expect(message(null)).toBe("null");
    expect(message(["q"])).toBe("an array");
    expect(message({})).toBe("an object of Object");
    expect(message(Object.create(null))).toBe("an object of no class");
    expect(message(() => 1)).toBe("a function");
    expect(message(new Date(0))).toBe("1970-01-01T00:00:00.000Z");
    expect(message(new Date(Number.NaN))).toBe("an invalid Date");
    expect(message(Symbol("q"))).toBe("Symbol(q)");
  });

  test("what is expected does not depend on what was received", () => {
    const expected = (queue: string) => refusalOf(() => job({ queue })).message.replace(/, received .*/s, "");
    expect(refusalOf(() => job({ queue: "\0, received x" })).message).toBe(
      `${expected("")}, received "\\u0000, received x"`,
    );
  });

  test("any value at all is taken or refused, never more", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(badOfJobs)),
        fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withMap: true, stringUnit: "binary" }),
        (field, value) => {
          try {
            job({ [field]: value });
          } catch (error) {
            expect(error).toBeInstanceOf(OptionsError);
            expect(error).toMatchObject({ field: `defineJob.${field}` });
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe("names", () => {
  test.each(["q", " ", "a b", "$1; --", "x".repeat(512), "é".repeat(256), `${"€".repeat(170)}ab`, "😀".repeat(128)])(
    "%s is one",
    (name) => {
      expect(job({ queue: name }).queue).toBe(name);
      expect(ticker({ queue: name, key: name })).toMatchObject({ queue: name, key: name });
    },
  );
});
