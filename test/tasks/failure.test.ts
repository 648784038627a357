import { DrizzleQueryError } from "drizzle-orm/errors";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { describeFailure, type Failure } from "../../src/tasks/failure.ts";

const secret = "hunter2";
const queryError = (cause?: Error) => new DrizzleQueryError("select $1", [secret], cause);

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}

describe("describeFailure", () => {
  test("takes name, message and stack of an error", () => {
    const error = new TypeError("no such thing");
    expect(describeFailure(error)).toEqual({ name: "TypeError", message: "no such thing", stack: error.stack });
    expect(describeFailure(named("MailerError", "away"))).toMatchObject({ name: "MailerError", message: "away" });
  });

  test("an error without a stack has none", () => {
    const error = new Error("x");
    delete error.stack;
    expect(describeFailure(error)).toStrictEqual({ name: "Error", message: "x" });
  });

  test.each([
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["text", "no such customer", "no such customer"],
    ["no text", "", ""],
    ["a number", 42, "42"],
    ["NaN", Number.NaN, "NaN"],
    ["a bigint", 10n, "10"],
    ["a boolean", false, "false"],
    ["a symbol", Symbol("why"), "Symbol(why)"],
    ["an object", { code: 5 }, '{"code":5}'],
    ["an array", [1, "a"], '[1,"a"]'],
    ["an object whose message is no text", { message: 5 }, '{"message":5}'],
    ["an object without a prototype", Object.create(null), "{}"],
    ["an object with toJSON", { toJSON: () => undefined }, "[object Object]"],
    ["a circular object", circular({}), "[object Object]"],
    ["a bigint in an object", { n: 1n }, "[object Object]"],
  ])("%s thrown is told as text", (_, thrown, message) => {
    expect(describeFailure(thrown)).toStrictEqual({ name: "Error", message });
  });

  test("a function thrown is told as its source", () => {
    const { name, message } = describeFailure(function why() {});
    expect({ name, message }).toEqual({ name: "Error", message: expect.stringContaining("function why") });
  });

  test("what is like an error is read like one", () => {
    expect(describeFailure({ name: "HttpError", message: "503", stack: "at x" })).toEqual({
      name: "HttpError",
      message: "503",
      stack: "at x",
    });
    expect(describeFailure({ name: 5, message: "503" })).toEqual({ name: "Error", message: "503" });
    expect(describeFailure({ name: "", message: "503", stack: 5 })).toEqual({ name: "Error", message: "503" });
  });

  test("text that Postgres cannot hold is mended", () => {
    const error = named("E\0rror", "a\u0000b \ud800 c");
    error.stack = "at \0 \udc00";
    expect(describeFailure(error)).toEqual({
      name: "E\uFFFDrror",
      message: "a\uFFFDb \uFFFD c",
      stack: "at \uFFFD \uFFFD",
    });
    expect(describeFailure("a\0")).toEqual({ name: "Error", message: "a\uFFFD" });
    expect(describeFailure({ a: "\0\ud800" }).message).toBe('{"a":"\\u0000\\ud800"}');
  });

  test("a circular cause is of no account", () => {
    const error = new Error("x");
    error.cause = error;
    expect(describeFailure(error)).toMatchObject({ name: "Error", message: "x" });
    const [one, two] = [queryError(), queryError()];
    Object.assign(one, { cause: two });
    Object.assign(two, { cause: one });
    expect(JSON.stringify(describeFailure(one))).not.toContain(secret);
  });

  test("what cannot be read says so", () => {
    const unreadable = { name: "Error", message: "an error that cannot be read" };
    const boom = () => {
      throw new Error("boom");
    };
    const traps = Object.fromEntries(
      ["get", "has", "getPrototypeOf", "ownKeys", "getOwnPropertyDescriptor"].map((trap) => [trap, boom]),
    );
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const getter = Object.defineProperty(new Error("x"), "message", { get: boom });
    const noText = Object.assign(() => {}, { toString: boom });
    const noTag = {
      toJSON: boom,
      get [Symbol.toStringTag]() {
        return boom();
      },
    };
    for (const thrown of [new Proxy({}, traps), new Proxy(new Error("x"), traps), proxy, getter, noText, noTag]) {
      expect(describeFailure(thrown)).toStrictEqual(unreadable);
    }
  });

  test("is bounded", () => {
    const error = named("N".repeat(1_000), "m".repeat(10_000_000));
    error.stack = "s".repeat(10_000_000);
    const failure = describeFailure(error);
    expect(failure.message).toBe(`${"m".repeat(2_000)}…`);
    expect(failure.stack).toBe(`${"s".repeat(8_000)}…`);
    expect(failure.name).toBe(`${"N".repeat(200)}…`);
    expect(describeFailure("t".repeat(10_000_000)).message).toBe(`${"t".repeat(2_000)}…`);
    expect(describeFailure({ rows: Array(100_000).fill("row") }).message).toHaveLength(2_001);
    expect(describeFailure(new Error("m".repeat(2_000))).message).toBe("m".repeat(2_000));
  });

  test("a cut through a surrogate pair leaves well-formed text", () => {
    const { message } = describeFailure(new Error(`x${"😀".repeat(2_000)}`));
    expect(message.isWellFormed()).toBe(true);
    expect(message.endsWith("\uFFFD…")).toBe(true);
  });

  describe("of a failed query", () => {
    test("the fixture holds the parameters in message and stack", () => {
      expect(queryError(new Error("x")).message).toContain(secret);
      expect(queryError(new Error("x")).stack).toContain(secret);
    });

    test("is the cause, without the parameters", () => {
      const cause = named("PostgresError", 'relation "orders" does not exist');
      const failure = describeFailure(queryError(cause));
      expect(failure).toEqual({ name: "PostgresError", message: cause.message, stack: cause.stack });
      expect(JSON.stringify(failure)).not.toContain(secret);
    });

    test("is the cause of the cause where that is a query too", () => {
      const cause = named("PostgresError", "deadlock detected");
      let error: Error = cause;
      for (let depth = 0; depth < 12; depth++) error = queryError(error);
      expect(describeFailure(error)).toMatchObject({ name: "PostgresError", message: "deadlock detected" });
    });

    test("is no parameter either where the cause is none, or no error", () => {
      for (const error of [queryError(), Object.assign(queryError(), { cause: null })]) {
        const failure = describeFailure(error);
        expect(JSON.stringify(failure)).not.toContain(secret);
        expect(failure.message).toBe("a query failed for an unknown reason");
      }
      expect(describeFailure(Object.assign(queryError(), { cause: "cut" }))).toEqual({ name: "Error", message: "cut" });
    });

    test("wrapped in an error of the user's is the user's error", () => {
      const error = new Error("could not save", { cause: queryError(new Error("x")) });
      const failure = describeFailure(error);
      expect(failure.message).toBe("could not save");
      expect(JSON.stringify(failure)).not.toContain(secret);
    });

    test("of another copy of drizzle-orm is one as well", () => {
      const foreign = { name: "Error", message: `Failed query: x\nparams: ${secret}`, query: "x", params: [secret] };
      const failure = describeFailure({ ...foreign, cause: new Error("the reason") });
      expect(failure.message).toBe("the reason");
    });
  });

  test("never throws, and what it gives is always storable", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
      stringUnit: "binary",
    });
    const broken = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) });
    const errorLike = fc.record({ name: anything, message: anything, stack: anything, cause: anything });
    const error = fc
      .tuple(broken, broken, anything)
      .map(([name, message, cause]) => Object.assign(new Error(message), { name, cause }));
    const query = fc
      .tuple(anything, anything)
      .map(([cause, params]) => Object.assign(queryError(), { cause, params: [params] }));
    fc.assert(
      fc.property(fc.oneof(anything, broken, errorLike, error, query), (thrown) => {
        expectStorable(describeFailure(thrown));
      }),
      { numRuns: 1_000 },
    );
  });
});

function expectStorable(failure: Failure): void {
  for (const [key, value] of Object.entries(failure)) {
    expect(["name", "message", "stack"]).toContain(key);
    expect(value).toBeTypeOf("string");
    expect(value.includes("\0")).toBe(false);
    expect(value.isWellFormed()).toBe(true);
    expect(value.length).toBeLessThanOrEqual(8_001);
  }
  expect(failure.name).not.toBe("");
}

function circular(value: { self?: object }): object {
  value.self = value;
  return value;
}
