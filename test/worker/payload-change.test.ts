import * as v from "valibot";
import { describe, expect, test } from "vitest";
import type { Spec } from "../../src/index.ts";
import { defineJob, PayloadError } from "../../src/index.ts";
import { changeSince, snapshotOf } from "../../src/worker/payload-change.ts";

/** What has become of a payload since now. */
function watchPayload(spec: Spec<any, any>, payload: unknown) {
  const before = snapshotOf(spec, payload);
  return (now: unknown) => changeSince(spec, before, now);
}

const anything = defineJob({ queue: "q", payload: v.any() });

test("sees a change at any depth of the very object it was given", () => {
  const value = { list: [{ deep: { n: 1 } }], text: "a" };
  const changeOf = watchPayload(anything, value);
  expect(changeOf(value)).toEqual({});
  value.list[0]!.deep.n = 2;
  expect(changeOf(value)).toEqual({ payload: value });
  value.list[0]!.deep.n = 1;
  expect(changeOf(value)).toEqual({});
});

describe("sees", () => {
  test.each<[string, unknown, unknown]>([
    ["an added key", { a: 1 }, { a: 1, b: 2 }],
    ["a removed key", { a: 1, b: 2 }, { a: 1 }],
    ["another value", 1, 2],
    ["another root", null, "x"],
  ])("%s", (_, before, after) => {
    expect(watchPayload(anything, before)(after)).toEqual({ payload: after });
    expect(watchPayload(anything, before)(before)).toEqual({});
  });
});

test("an equal value in place of the old one is no change", () => {
  expect(watchPayload(anything, { a: [1, "x", null, 1.5] })({ a: [1, "x", null, 1.5] })).toEqual({});
});

test("a change that can no longer be stored is refused", () => {
  const changeOf = watchPayload(anything, { a: 1 });
  expect(() => changeOf({ a: () => 1 })).toThrow(PayloadError);
});

describe("a schema that transforms", () => {
  const payload = v.object({
    rate: v.pipe(
      v.number(),
      v.transform((rate) => rate * 100),
    ),
    n: v.number(),
  });
  const trimming = defineJob({ queue: "q", payload: v.object({ name: v.pipe(v.string(), v.trim()) }) });

  test("without encode: a change is refused, rather than transformed again at each run", () => {
    const spec = defineJob({ queue: "q", payload });
    const value = { rate: 100, n: 1 };
    const changeOf = watchPayload(spec, value);
    expect(changeOf(value)).toEqual({});
    value.n = 2;
    expect(() => changeOf(value)).toThrow(/encode/);
  });

  test("with encode: the way back is stored", () => {
    const spec = defineJob({ queue: "q", payload, encode: ({ rate, n }) => ({ rate: rate / 100, n }) });
    expect(watchPayload(spec, { rate: 100, n: 1 })({ rate: 100, n: 2 })).toEqual({ payload: { rate: 1, n: 2 } });
  });

  test("to what it leaves alone the next time needs no encode", () => {
    expect(watchPayload(trimming, { name: "a" })({ name: "b" })).toEqual({ payload: { name: "b" } });
  });

  test("to what cannot be compared: encode has the word, and without it nothing is stored", () => {
    const lively = v.pipe(
      v.object({ n: v.number() }),
      v.transform(({ n }) => ({ n, next: () => n + 1 })),
    );
    const value = { n: 1, next: () => 2 };
    const encoded = watchPayload(defineJob({ queue: "q", payload: lively, encode: ({ n }) => ({ n }) }), value);
    const mute = watchPayload(defineJob({ queue: "q", payload: lively }), value);
    value.n = 5;
    expect(encoded(value)).toEqual({ payload: { n: 5 } });
    expect(mute(value)).toEqual({});
  });
});
