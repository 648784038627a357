import { expect, test } from "vitest";
import { done, fail, isResult, retry, skip } from "../../src/tasks/result.ts";

test("done says that the run succeeded, and what it gave", () => {
  expect(done()).toStrictEqual({ type: "done" });
  expect(done(undefined)).toStrictEqual({ type: "done" });
  expect(done(null)).toStrictEqual({ type: "done", output: null });
  expect(done(0)).toStrictEqual({ type: "done", output: 0 });
  expect(done({ sent: 3 })).toStrictEqual({ type: "done", output: { sent: 3 } });
});

test.each([
  ["retry", retry],
  ["fail", fail],
  ["skip", skip],
])("%s keeps the error, whatever it is", (type, make) => {
  const error = new Error("no");
  expect(make(error)).toStrictEqual({ type, error });
  expect((make(error) as { error: unknown }).error).toBe(error);
  expect(make(undefined)).toStrictEqual({ type, error: undefined });
});

test("isResult knows a result of any copy of pgqueue, and nothing else", () => {
  expect([done(), retry(1), fail(1), skip(1), { type: "done" }].map(isResult)).toEqual(Array(5).fill(true));
  const others = [undefined, null, "done", 1, {}, [], { type: "ok" }, { type: undefined }, done, { type: "toString" }];
  expect(others.map(isResult)).toEqual(others.map(() => false));
});
