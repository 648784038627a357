import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type } from "arktype";
import {
  type Duration,
  defineJob,
  defineTicker,
  done,
  fail,
  type JobSpec,
  parsePayload,
  type Result,
  retry,
  skip,
  type TickerSpec,
} from "pgqueue";
import * as v from "valibot";
import { assertType, describe, expectTypeOf, test } from "vitest";
import { z } from "zod";

const cursor = v.object({ cursor: v.number() });
const moment = z.object({ at: z.string().transform((s) => new Date(s)), n: z.number().default(1) });

describe("defineJob", () => {
  test("infers what is stored and what is handled", () => {
    const valibot = defineJob({
      queue: "q",
      payload: v.object({ orderId: v.number(), to: v.pipe(v.string(), v.email()) }),
      hash: (p) => `receipt:${p.orderId}`,
    });
    expectTypeOf(valibot).toEqualTypeOf<JobSpec<{ orderId: number; to: string }, { orderId: number; to: string }>>();

    const zod = defineJob({ queue: "q", payload: moment, hash: (p) => p.at.toISOString() });
    expectTypeOf(zod).toEqualTypeOf<JobSpec<{ at: string; n?: number | undefined }, { at: Date; n: number }>>();

    const arktype = defineJob({ queue: "q", payload: type({ n: "number", "s?": "string" }), hash: (p) => p.s });
    expectTypeOf(arktype).toEqualTypeOf<JobSpec<{ n: number; s?: string }, { n: number; s?: string }>>();
  });

  test("hash takes the output, encode leads from output to input", () => {
    defineJob({ queue: "q", payload: moment, encode: ({ at, n }) => ({ at: at.toISOString(), n }) });
    defineJob({ queue: "q", payload: cursor, hash: () => null });
    defineJob({ queue: "q", payload: cursor, hash: () => undefined });
    // @ts-expect-error the output's `at` is a Date
    defineJob({ queue: "q", payload: moment, hash: (p) => p.at });
    // @ts-expect-error a hash is text
    defineJob({ queue: "q", payload: cursor, hash: (p) => p.cursor });
    // @ts-expect-error no such field
    defineJob({ queue: "q", payload: cursor, hash: (p) => p.nope });
    // @ts-expect-error encode gives the output
    defineJob({ queue: "q", payload: moment, encode: (p) => p });
  });

  test("every option is typed", () => {
    defineJob({
      queue: "q",
      payload: cursor,
      dedup: "active",
      pollInterval: "250ms",
      maxRetries: 0,
      retryDelay: 5_000,
      leaseDuration: "1h",
      finalizeBuffer: { total: (unit) => (unit === "milliseconds" ? 1 : 0) },
    });
    // @ts-expect-error queue is required
    defineJob({ payload: cursor });
    // @ts-expect-error payload is required
    defineJob({ queue: "q" });
    // @ts-expect-error unknown option
    defineJob({ queue: "q", payload: cursor, retries: 3 });
    // @ts-expect-error an option of tickers
    defineJob({ queue: "q", payload: cursor, every: "5m" });
    // @ts-expect-error no such dedup
    defineJob({ queue: "q", payload: cursor, dedup: "always" });
    // @ts-expect-error not a number
    defineJob({ queue: "q", payload: cursor, maxRetries: "3" });
    // @ts-expect-error not a Standard Schema
    defineJob({ queue: "q", payload: { cursor: "number" } });
  });
});

describe("defineTicker", () => {
  const base = { queue: "q", key: "main", payload: cursor, initialPayload: { cursor: 0 }, every: "5m" } as const;

  test("keeps the columns of its row in its type", () => {
    expectTypeOf(defineTicker(base)).toEqualTypeOf<TickerSpec<{ cursor: number }, { cursor: number }, {}>>();
    const withColumns = defineTicker({ ...base, columns: { tenantId: "t" } });
    expectTypeOf(withColumns).toEqualTypeOf<TickerSpec<{ cursor: number }, { cursor: number }, { tenantId: string }>>();
  });

  test("initialPayload is the schema's input", () => {
    defineTicker({ ...base, payload: moment, initialPayload: { at: "2027-01-01" } });
    // @ts-expect-error the output
    defineTicker({ ...base, payload: moment, initialPayload: { at: new Date(), n: 1 } });
    // @ts-expect-error wrong type
    defineTicker({ ...base, initialPayload: { cursor: "0" } });
    // @ts-expect-error missing field
    defineTicker({ ...base, initialPayload: {} });
    // @ts-expect-error excess field
    defineTicker({ ...base, initialPayload: { cursor: 0, extra: 1 } });
  });

  test("mistakes are refused", () => {
    const { key: _key, ...keyless } = base;
    const { every: _every, ...timeless } = base;
    const { initialPayload: _initialPayload, ...empty } = base;
    // @ts-expect-error key is required
    defineTicker(keyless);
    // @ts-expect-error every is required
    defineTicker(timeless);
    // @ts-expect-error initialPayload is required
    defineTicker(empty);
    // @ts-expect-error an option of jobs
    defineTicker({ ...base, hash: () => "h" });
    // @ts-expect-error an option of jobs
    defineTicker({ ...base, dedup: "active" });
  });
});

describe("Duration", () => {
  test("is a number, a number with its unit, or what tells its total", () => {
    for (const good of [5, "250ms", "5s", "1.5m", "1h", "1d", "1w"] as const) assertType<Duration>(good);
    assertType<Duration>({ total: () => 5 });
    // @ts-expect-error no such unit
    assertType<Duration>("5 parsecs");
    // @ts-expect-error no unit
    assertType<Duration>("5");
    // @ts-expect-error a word
    assertType<Duration>("5 minutes");
    // @ts-expect-error nothing
    assertType<Duration>(null);
    // @ts-expect-error bigint
    assertType<Duration>(5n);
    // @ts-expect-error a moment
    assertType<Duration>(new Date());
  });
});

describe("results and payloads", () => {
  test("results are made by four functions", () => {
    for (const result of [done(), done({ n: 1 }), retry(new Error()), fail("no"), skip(1)]) assertType<Result>(result);
    // @ts-expect-error no such result
    assertType<Result>({ type: "ok" });
    // @ts-expect-error an error is wanted
    retry();
    // @ts-expect-error an error is wanted
    fail();
  });

  test("parsePayload gives the output", () => {
    const job = defineJob({ queue: "q", payload: moment });
    expectTypeOf(parsePayload(job, { payload: {} })).toEqualTypeOf<{ at: Date; n: number }>();
    // @ts-expect-error the payload itself
    parsePayload(job, "2027-01-01");
  });

  test("any Standard Schema will do", () => {
    const own: StandardSchemaV1<{ a: string }, { b: number }> = null!;
    expectTypeOf(defineJob({ queue: "q", payload: own })).toEqualTypeOf<JobSpec<{ a: string }, { b: number }>>();
  });
});
