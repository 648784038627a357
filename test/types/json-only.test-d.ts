import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type } from "arktype";
import { defineJob, defineTicker, type JobOptions } from "pgqueue";
import * as v from "valibot";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";

interface Tree {
  name: string;
  children: Tree[];
}
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
/** The paths that the option `payload` complains of; never where it takes the schema. */
type Complaint<S extends StandardSchemaV1> = JobOptions<S>["payload"] extends infer Wanted
  ? Wanted extends { "cannot be stored as JSON": infer Path }
    ? Path
    : never
  : never;

const queue = "q";

describe("schemas that JSON carries", () => {
  test("compile", () => {
    const object = v.object({
      orderId: v.number(),
      note: v.optional(v.string()),
      tags: v.array(v.picklist(["x", "y"])),
    });
    defineJob({ queue, payload: object, hash: (p) => String(p.orderId) });
    defineJob({ queue, payload: type({ n: "number", "s?": "string" }), hash: (p) => p.s ?? "" });
    defineJob({ queue, payload: z.any() });
    defineJob({ queue, payload: z.unknown() });
    defineJob({ queue, payload: z.record(z.string(), z.unknown()) });
    defineJob({ queue, payload: v.custom<`x${string}`>(() => true) });
    defineJob({ queue, payload: v.custom<Json>(() => true) });
    defineJob({ queue, payload: v.tuple([v.string(), v.nullable(v.number())]) });
    for (const payload of [v.string(), v.number(), v.boolean(), v.null()]) defineJob({ queue, payload });
  });

  test("the input alone counts: a transform may give anything", () => {
    defineJob({
      queue,
      payload: z.object({ at: z.string().transform((s) => new Date(s)) }),
      hash: (p) => p.at.toISOString(),
    });
    defineJob({
      queue,
      payload: v.pipe(
        v.string(),
        v.transform((s) => BigInt(s)),
      ),
    });
  });

  test("recursive, branded and nested ones", () => {
    const tree: v.GenericSchema<Tree> = v.object({ name: v.string(), children: v.array(v.lazy(() => tree)) });
    defineJob({ queue, payload: tree });
    defineJob({
      queue,
      payload: z.discriminatedUnion("t", [
        z.object({ t: z.literal("a"), n: z.number() }),
        z.object({ t: z.literal("b"), m: z.string() }),
      ]),
    });
    const leaf = z.union([z.string(), z.number(), z.object({ d: z.string() })]);
    const items = z.array(z.object({ c: z.record(z.string(), z.array(leaf)) }));
    defineJob({ queue, payload: z.object({ a: z.object({ b: items }), s: z.string().brand("x") }) });
  });
});

describe("schemas that JSON does not carry", () => {
  test("are refused, and the error names the path", () => {
    const when = v.object({ orderId: v.number(), at: v.object({ when: v.date() }) });
    expectTypeOf<Complaint<typeof when>>().toEqualTypeOf<"payload.at.when">();
    // @ts-expect-error a Date
    defineJob({ queue, payload: when });

    const map = z.object({ m: z.map(z.string(), z.number()) });
    expectTypeOf<Complaint<typeof map>>().toEqualTypeOf<"payload.m">();
    // @ts-expect-error a Map
    defineJob({ queue, payload: map });

    const ids = z.object({ ids: z.array(z.bigint()) });
    expectTypeOf<Complaint<typeof ids>>().toEqualTypeOf<"payload.ids[]">();
    // @ts-expect-error a bigint
    defineJob({ queue, payload: ids });

    const optional = v.object({ at: v.optional(v.date()) });
    expectTypeOf<Complaint<typeof optional>>().toEqualTypeOf<"payload.at">();
    // @ts-expect-error an optional Date
    defineJob({ queue, payload: optional });

    const several = v.object({ a: v.set(v.string()), b: v.bigint() });
    expectTypeOf<Complaint<typeof several>>().toEqualTypeOf<"payload.a" | "payload.b">();
    // @ts-expect-error a Set and a bigint
    defineJob({ queue, payload: several });

    const ark = type({ at: "Date" });
    expectTypeOf<Complaint<typeof ark>>().toEqualTypeOf<"payload.at">();
    // @ts-expect-error a Date
    defineJob({ queue, payload: ark });
  });

  test("at the root too, and for tickers", () => {
    // @ts-expect-error a Date
    defineJob({ queue, payload: v.date() });
    // @ts-expect-error a bigint
    defineJob({ queue, payload: z.bigint() });
    // @ts-expect-error bytes
    defineJob({ queue, payload: v.instance(Uint8Array) });
    const payload = v.object({ at: v.date() });
    // @ts-expect-error a Date
    defineTicker({ queue, key: "k", every: "1m", payload, initialPayload: { at: new Date() } });
  });

  test("every kind that JSON has no word for", () => {
    type Of<T> = Complaint<StandardSchemaV1<{ x: T }>>;
    expectTypeOf<Of<bigint>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<symbol>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<Date>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<RegExp>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<Map<string, number>>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<Set<string>>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<Uint8Array>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<ArrayBuffer>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<Error>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<URL>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<() => void>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<Promise<string>>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<string | Date>>().toEqualTypeOf<"payload.x">();
    expectTypeOf<Of<Date[]>>().toEqualTypeOf<"payload.x[]">();
    expectTypeOf<Of<{ y: Date }[]>>().toEqualTypeOf<"payload.x[].y">();
    expectTypeOf<Of<Record<string, Date>>>().toEqualTypeOf<`payload.x.${string}`>();
    expectTypeOf<Of<[string, Date]>>().toEqualTypeOf<"payload.x[]">();
    expectTypeOf<Of<string | number | boolean | null | undefined>>().toEqualTypeOf<never>();
  });
});
