import { createContext, runInContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { PayloadError } from "../../src/errors.ts";
import { exactJson, pathText } from "../../src/tasks/exact-json.ts";

class Money {
  constructor(readonly cents: number) {}
}
class Plain extends Object {}

function nest(levels: number, innermost: unknown = 1): unknown {
  let value = innermost;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

function circular(): object {
  const value: Record<string, unknown> = { a: 1 };
  value.self = value;
  return value;
}

function hidden(key: string | symbol, value: unknown): object {
  return Object.defineProperty({ a: 1 }, key, { value, enumerable: false });
}

const foreign = (code: string): unknown => runInContext(code, createContext());

function refusalOf(value: unknown, root = "payload"): PayloadError {
  try {
    exactJson(value, root);
  } catch (error) {
    expect(error).toBeInstanceOf(PayloadError);
    return error as PayloadError;
  }
  throw new Error("it was accepted");
}

describe("what JSON carries", () => {
  test.each([
    ["null", null, "null"],
    ["true", true, "true"],
    ["false", false, "false"],
    ["0", 0, "0"],
    ["-0 as 0", -0, "0"],
    ["-0 within", { a: [-0] }, '{"a":[0]}'],
    ["2 ** 53", 2 ** 53, "9007199254740992"],
    ["the largest double", Number.MAX_VALUE, "1.7976931348623157e+308"],
    ["the smallest double", Number.MIN_VALUE, "5e-324"],
    ["no text", "", '""'],
    ["text that looks like JSON", '{"a":1}', '"{\\"a\\":1}"'],
    ["text that looks like an escape", "a\\u0000b\\ud800", '"a\\\\u0000b\\\\ud800"'],
    ["a surrogate pair", "😀", '"😀"'],
    ["control characters", "\u0001\u2028", '"\\u0001\u2028"'],
    ["placeholders", "$1 ? :x %s ' \" \\", '"$1 ? :x %s \' \\" \\\\"'],
    ["an empty array", [], "[]"],
    ["an empty object", {}, "{}"],
    ["undefined properties, omitted", { a: undefined, b: { c: undefined }, d: null }, '{"b":{},"d":null}'],
    ["an object without a prototype", Object.assign(Object.create(null), { a: [1] }), '{"a":[1]}'],
    ["a structured clone", structuredClone({ a: [1, { b: null }] }), '{"a":[1,{"b":null}]}'],
    ["a frozen object", Object.freeze({ a: 1 }), '{"a":1}'],
    [
      "a getter",
      {
        get a() {
          return 1;
        },
      },
      '{"a":1}',
    ],
    ["an object of another realm", foreign('({ a: [1, { b: "x", c: undefined }] })'), '{"a":[1,{"b":"x"}]}'],
    ["a proxy of a plain object", new Proxy({ a: 1 }, {}), '{"a":1}'],
    ["a hidden property, omitted", hidden("b", 5n), '{"a":1}'],
    ["the same object twice", (([o]) => ({ a: o, b: o }))([{ c: 1 }]), '{"a":{"c":1},"b":{"c":1}}'],
    ["an empty key", { "": 1 }, '{"":1}'],
    ["keys that are numbers", { 0: "a", "01": "b" }, '{"0":"a","01":"b"}'],
  ])("%s", (_, value, json) => {
    expect(exactJson(value, "payload")).toBe(json);
  });

  test("a key __proto__ is a key like any other", () => {
    const value = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "toString": 3}');
    expect(exactJson(value, "payload")).toBe('{"__proto__":{"a":1},"constructor":2,"toString":3}');
    expect(refusalOf(JSON.parse('{"__proto__": {"a": "\\u0000"}}')).path).toBe("payload.__proto__.a");
  });

  test("a thousand levels", () => {
    expect(exactJson(nest(1_000), "payload")).toBe(`${"[".repeat(1_000)}1${"]".repeat(1_000)}`);
  });
});

describe("what JSON does not carry is refused", () => {
  test.each([
    ["a NUL", "a\0b", "text with a NUL character"],
    ["a lone high surrogate", "\ud800", "text with a lone surrogate"],
    ["a lone low surrogate", "a\udc00b", "text with a lone surrogate"],
    ["reversed surrogates", "\udc00\ud800", "text with a lone surrogate"],
    ["a bigint", 1n, "a bigint"],
    ["NaN", Number.NaN, "NaN"],
    ["Infinity", Number.POSITIVE_INFINITY, "Infinity"],
    ["-Infinity", Number.NEGATIVE_INFINITY, "-Infinity"],
    ["a function", () => 1, "a function"],
    ["a class", Money, "a function"],
    ["a symbol", Symbol("x"), "a symbol"],
    ["a Date", new Date(0), "an instance of Date"],
    ["an invalid Date", new Date(Number.NaN), "an instance of Date"],
    ["a Map", new Map([["a", 1]]), "an instance of Map"],
    ["an empty Map", new Map(), "an instance of Map"],
    ["a Set", new Set([1]), "an instance of Set"],
    ["a WeakMap", new WeakMap(), "an instance of WeakMap"],
    ["a class instance", new Money(5), "an instance of Money"],
    ["an instance of a class over Object", new Plain(), "an instance of Plain"],
    ["an instance of a class without a name", new (class {})(), "an instance of a class"],
    ["a Buffer", Buffer.from("x"), "an instance of Buffer"],
    ["a Uint8Array", new Uint8Array(2), "an instance of Uint8Array"],
    ["an ArrayBuffer", new ArrayBuffer(2), "an instance of ArrayBuffer"],
    ["a RegExp", /x/, "an instance of RegExp"],
    ["an Error", new Error("x"), "an instance of Error"],
    ["a URL", new URL("http://x"), "an instance of URL"],
    ["a Promise", Promise.resolve(1), "an instance of Promise"],
    ["a String", new String("x"), "an instance of String"],
    ["a Number", new Number(1), "an instance of Number"],
    ["a Boolean", new Boolean(false), "an instance of Boolean"],
    ["a symbol as key", { [Symbol("x")]: 1 }, "an object with a symbol as key"],
    ["a hidden symbol as key", hidden(Symbol("x"), 1), "an object with a symbol as key"],
    ["a hidden toJSON", hidden("toJSON", () => 5), "an object with toJSON"],
    ["a Date of another realm", foreign("new Date(0)"), "an instance of Date"],
    ["a Map of another realm", foreign("new Map()"), "an instance of Map"],
    ["a class instance of another realm", foreign("new (class Far {})()"), "an instance of Far"],
  ])("%s, at the root and wherever it is", (_, value, what) => {
    const places: [unknown, string][] = [
      [value, "payload"],
      [{ a: value }, "payload.a"],
      [[value], "payload[0]"],
      [{ ok: [1, { items: [{}, {}, { sku: value }] }] }, "payload.ok[1].items[2].sku"],
      [{ "a b": { "": { ünï: value } } }, 'payload["a b"][""].ünï'],
      [Object.assign(Object.create(null), { 0: value }), 'payload["0"]'],
    ];
    for (const [whole, path] of places) {
      const refusal = refusalOf(whole);
      expect(refusal.path).toBe(path);
      expect(refusal.message).toBe(`${path}: cannot be stored as JSON: ${what}`);
      expect(refusal.issues).toEqual([refusal.message]);
      expect(refusal.code).toBe("PGQUEUE_PAYLOAD");
    }
  });

  test.each([
    ["a root", undefined, "payload"],
    ["an item", [1, undefined], "payload[1]"],
    ["an item within", { a: [{ b: [undefined] }] }, "payload.a[0].b[0]"],
    // biome-ignore lint/suspicious/noSparseArray: it is what is tested
    ["a hole", [1, , 3], "payload[1]"],
    ["a hole at the end", Object.assign([1], { length: 2 }), "payload[1]"],
    ["nothing but holes", new Array(3), "payload[0]"],
  ])("undefined as %s", (_, value, path) => {
    expect(refusalOf(value).message).toBe(`${path}: cannot be stored as JSON: undefined`);
    expect(refusalOf(value).path).toBe(path);
  });

  test.each([
    ["a NUL", { a: { "b\0": 1 } }, 'payload.a["b\\u0000"]', "text with a NUL character"],
    ["a lone surrogate", [{ "\ud800": 1 }], 'payload[0]["\\ud800"]', "text with a lone surrogate"],
  ])("%s in a key", (_, value, path, what) => {
    expect(refusalOf(value).path).toBe(path);
    expect(refusalOf(value).message).toBe(`${path}: cannot be stored as JSON: ${what}`);
  });

  test("the bad key of an undefined property is omitted with it", () => {
    expect(exactJson({ "b\0": undefined }, "payload")).toBe("{}");
  });

  test("toJSON, which would store something else", () => {
    expect(refusalOf({ a: { toJSON: () => 5 } }).path).toBe("payload.a");
    expect(exactJson({ toJSON: "x" }, "payload")).toBe('{"toJSON":"x"}');
    const items = Object.defineProperty([1], "toJSON", { value: () => 5, enumerable: false });
    expect(refusalOf({ items }).message).toBe("payload.items: cannot be stored as JSON: an object with toJSON");
    const inherited = Object.create(Object.assign(Object.create(null), { toJSON: () => 5 }));
    expect(refusalOf({ inherited }).path).toBe("payload.inherited");
  });

  test.each([
    ["a circular object", circular(), "payload.self.self.self"],
    ["a circular item", { a: [circular()] }, "payload.a[0].self.self"],
    ["1,001 levels", nest(1_001), "payload[0][0][0]"],
    ["100,000 levels", nest(100_000), "payload[0][0][0]"],
    ["a million levels of objects", { a: nest(1_000_000, {}) }, "payload.a[0][0]"],
  ])("%s", (_, value, start) => {
    const refusal = refusalOf(value);
    expect(refusal.path.startsWith(start)).toBe(true);
    expect(refusal.message).toContain("cannot be stored as JSON: circular, or nested deeper than 1000 levels");
    expect(refusal.message.length).toBeLessThan(300);
  });

  test("more than Postgres takes as one text", () => {
    const megabytes = (n: number) => "x".repeat(n * 1_048_576);
    expect(refusalOf(megabytes(64)).message).toContain("payload: too large: 67108866 characters of JSON");
    const stringify = vi.spyOn(JSON, "stringify").mockImplementationOnce(() => {
      throw new RangeError("Invalid string length");
    });
    expect(refusalOf([1]).message).toBe("payload: too large: over 67108864 characters of JSON");
    stringify.mockRestore();
  });

  test("the first of several is named, and the root as the caller calls it", () => {
    expect(refusalOf({ a: 1, b: [1n], c: Number.NaN }, "meta").path).toBe("meta.b[0]");
    expect(refusalOf(undefined, "output").message).toBe("output: cannot be stored as JSON: undefined");
  });
});

describe("properties", () => {
  test("any JSON value reads back deeply equal", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(JSON.parse(exactJson(value, "payload"))).toStrictEqual(carried(value));
      }),
      { numRuns: 500 },
    );
  });

  test("whatever it is, it reads back equal or is refused", () => {
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
      stringUnit: "binary",
    });
    const outcomes = { refused: 0, accepted: 0 };
    fc.assert(
      fc.property(anything, (value) => {
        let json: string;
        try {
          json = exactJson(value, "payload");
        } catch (error) {
          outcomes.refused++;
          expect(error).toBeInstanceOf(PayloadError);
          return;
        }
        outcomes.accepted++;
        expect(JSON.parse(json)).toStrictEqual(carried(value));
        expect(hasNul(value)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(outcomes.refused, outcomes.accepted)).toBeGreaterThan(50);
  });
});

test.each([
  [[], "payload"],
  [["items", 3, "sku"], "payload.items[3].sku"],
  [["a b", "", "1", "ü", "$x_1", "a.b", 'q"'], 'payload["a b"][""]["1"].ü.$x_1["a.b"]["q\\""]'],
])("pathText of %j", (path, text) => {
  expect(pathText("payload", path)).toBe(text);
});

/** The value as JSON has it: without undefined properties, -0 as 0, objects plain. */
function carried(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(carried);
  if (typeof value !== "object" || value === null) return value === 0 ? 0 : value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, carried(item)]));
}

function hasNul(value: unknown): boolean {
  if (typeof value === "string") return value.includes("\0");
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, item]) => item !== undefined && (key.includes("\0") || hasNul(item)));
}
