import { expect, test } from "vitest";
import { OptionsError } from "../../src/errors.ts";
import { type RetainOptions, readRetention } from "../../src/tasks/retention.ts";

test.each<[RetainOptions | undefined, number, number]>([
  [undefined, 86_400_000, Number.POSITIVE_INFINITY],
  [{}, 86_400_000, Number.POSITIVE_INFINITY],
  [{ completed: 0 }, 0, Number.POSITIVE_INFINITY],
  [{ completed: "forever", failed: "4w" }, Number.POSITIVE_INFINITY, 2_419_200_000],
  [{ failed: 0 }, 86_400_000, 0],
])("%j is kept for %d and %d ms", (options, completed, failed) => {
  expect(readRetention("defineJob.retain", options)).toEqual({ completed, failed });
});

test.each<[unknown, string, RegExp]>([
  ["1d", "defineJob.retain", /an object of options/],
  [{ complete: "1d" }, "defineJob.retain.complete", /completed, failed/],
  [{ completed: "1 day" }, "defineJob.retain.completed", /"forever"/],
  [{ failed: -1 }, "defineJob.retain.failed", /"forever"/],
  [{ failed: null }, "defineJob.retain.failed", /"forever"/],
])("refuses %j", (options, field, message) => {
  const read = () => readRetention("defineJob.retain", options as RetainOptions);
  expect(read).toThrow(OptionsError);
  expect(read).toThrow(message);
  expect(read).toThrow(expect.objectContaining({ field }));
});
