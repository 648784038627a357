import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type } from "arktype";
import * as v from "valibot";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { OptionsError, PayloadError } from "../../src/errors.ts";
import { defineJob } from "../../src/tasks/define.ts";
import { encodePayload, parsePayload } from "../../src/tasks/payload.ts";

const specOf = <S extends StandardSchemaV1>(payload: S) => defineJob({ queue: "q", payload: payload as never });
const issuing = (...issues: StandardSchemaV1.Issue[]): StandardSchemaV1 => ({
  "~standard": { version: 1, vendor: "own", validate: () => ({ issues }) },
});

function refusalOf(run: () => unknown): PayloadError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(PayloadError);
    return error as PayloadError;
  }
  throw new Error("it was accepted");
}

const schemas = {
  valibot: v.object({
    at: v.pipe(
      v.string(),
      v.transform((s) => new Date(s)),
    ),
    n: v.optional(v.number(), 1),
  }),
  zod: z.object({ at: z.string().transform((s) => new Date(s)), n: z.number().default(1) }),
  arktype: type({ at: type("string").pipe((s) => new Date(s)), n: "number = 1" }),
};

describe.each(Object.entries(schemas))("a transforming schema of %s", (_, schema) => {
  const spec = specOf(schema);

  test("its input is stored, its output handled", () => {
    const { json, parsed } = encodePayload(spec, { at: "2027-01-01T00:00:00Z" });
    expect(JSON.parse(json)).toEqual({ at: "2027-01-01T00:00:00Z" });
    expect(parsed).toEqual({ at: new Date("2027-01-01T00:00:00Z"), n: 1 });
    expect(parsePayload(spec, { payload: JSON.parse(json) })).toEqual(parsed);
  });

  test("its refusal names the path", () => {
    expect(refusalOf(() => encodePayload(spec, { at: 5 })).path).toBe("payload.at");
    expect(refusalOf(() => parsePayload(spec, { payload: { at: 5 } })).path).toBe("payload.at");
    expect(refusalOf(() => encodePayload(spec, {}, "initialPayload")).path).toBe("initialPayload.at");
    expect(refusalOf(() => parsePayload(spec, { payload: null })).path).toBe("payload");
  });
});

describe("encodePayload", () => {
  test.each([
    ["valibot", v.object({ a: v.number() })],
    ["zod", z.object({ a: z.number() })],
    ["arktype", type({ a: "number" })],
  ])("keys that the schema strips are stored: %s", (_, schema) => {
    expect(JSON.parse(encodePayload(specOf(schema), { a: 1, b: 2 }).json)).toEqual({ a: 1, b: 2 });
  });

  test("what JSON does not carry is refused although the schema takes it, before it is asked", () => {
    let asked = 0;
    const spec = specOf(v.custom(() => ++asked > 0));
    expect(refusalOf(() => encodePayload(spec, { at: [new Date(0)] })).path).toBe("payload.at[0]");
    expect(refusalOf(() => encodePayload(spec, undefined)).path).toBe("payload");
    expect(asked).toBe(0);
  });

  test.each([null, true, false, 0, "", '{"a":1}', [], {}, 2 ** 53, [[[[1]]]]])("a root of %j", (payload) => {
    const { json, parsed } = encodePayload(specOf(v.unknown()), payload);
    expect(JSON.parse(json)).toStrictEqual(payload);
    expect(parsed).toStrictEqual(payload);
  });
});

describe("a refusal", () => {
  test("names the first path, and tells all issues", () => {
    const spec = specOf(v.object({ items: v.array(v.object({ sku: v.string() })), to: v.pipe(v.string(), v.email()) }));
    const refusal = refusalOf(() =>
      parsePayload(spec, { payload: { items: [{ sku: "a" }, { sku: 5 }], to: "nobody" } }),
    );
    expect(refusal.path).toBe("payload.items[1].sku");
    expect(refusal.issues).toEqual([
      "payload.items[1].sku: Invalid type: Expected string but received 5",
      'payload.to: Invalid email: Received "nobody"',
    ]);
    expect(refusal.message).toBe(refusal.issues.join("; "));
    expect(refusal.code).toBe("PGQUEUE_PAYLOAD");
  });

  test.each([
    ["no path", {}, "payload"],
    ["an empty path", { path: [] }, "payload"],
    ["keys and indexes", { path: ["items", 3, "sku"] }, "payload.items[3].sku"],
    ["segments that are objects", { path: [{ key: "items" }, { key: 3 }, { key: "sku" }] }, "payload.items[3].sku"],
    ["both", { path: ["a b", { key: 0 }, { key: "" }] }, 'payload["a b"][0][""]'],
    ["a symbol", { path: [Symbol("s"), { key: Symbol("t") }] }, 'payload["Symbol(s)"]["Symbol(t)"]'],
  ])("of an issue with %s", (_, issue, path) => {
    const spec = specOf(issuing({ message: "no", ...issue }));
    expect(refusalOf(() => parsePayload(spec, { payload: 1 }))).toMatchObject({ path, message: `${path}: no` });
  });

  test("of a schema that names no issue", () => {
    const refusal = refusalOf(() => parsePayload(specOf(issuing()), { payload: 1 }));
    expect(refusal).toMatchObject({ path: "payload", message: "payload: refused by the schema" });
  });
});

describe("a schema that validates asynchronously", () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  afterEach(() => {
    process.off("unhandledRejection", note);
    unhandled.length = 0;
  });

  const asynchronous = {
    valibot: v.pipeAsync(
      v.number(),
      v.checkAsync(async () => true),
    ),
    zod: z.number().refine(async () => true),
    own: { "~standard": { version: 1, vendor: "own", validate: async (value: unknown) => ({ value }) } },
  } as const;

  test.each(Object.entries(asynchronous))("is refused: %s", (_, schema) => {
    for (const run of [encodePayload, (spec: never, payload: number) => parsePayload(spec, { payload })]) {
      const refused = () => run(specOf(schema as StandardSchemaV1) as never, 1);
      expect(refused).toThrow(OptionsError);
      expect(refused).toThrow(expect.objectContaining({ field: "q.payload", value: schema }));
      expect(refused).toThrow("q.payload: expected a schema that validates synchronously");
    }
  });

  test("is no matter of an unhandled rejection", async () => {
    process.on("unhandledRejection", note);
    const schema: StandardSchemaV1 = {
      "~standard": { version: 1, vendor: "own", validate: () => Promise.reject(new Error("away")) },
    };
    expect(() => encodePayload(specOf(schema), 1)).toThrow(OptionsError);
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });

  test("where zod does not reach the asynchronous part, it is a refusal as any other", () => {
    const schema = z.object({ n: z.number().refine(async () => true) });
    expect(refusalOf(() => parsePayload(specOf(schema), { payload: { n: "x" } })).path).toBe("payload.n");
  });
});

test("arktype gives the caller's own object back, with the keys it does not know", () => {
  const payload = { a: 1, b: 2 };
  expect(parsePayload(specOf(type({ a: "number" })), { payload })).toBe(payload);
});

test("what a schema throws comes through as it is", () => {
  const error = new TypeError("a bug in the schema");
  const spec = specOf(
    v.custom(() => {
      throw error;
    }),
  );
  expect(() => parsePayload(spec, { payload: 1 })).toThrow(error);
});
