import * as v from "valibot";
import { OptionsError } from "../errors.ts";
import { type Duration, milliseconds } from "./duration.ts";
import { checkName } from "./name.ts";

const mostRetries = 32_767;

/** A value that passes when `check` does not throw; its OptionsError is kept as it is. */
function checked<T>(check: (field: string, value: T) => unknown) {
  return v.rawCheck<unknown>(({ dataset, addIssue }) => {
    try {
      check("", dataset.value as T);
    } catch (error) {
      addIssue({
        expected: error instanceof OptionsError ? error.expected : String(error),
        received: "",
        message: "",
      });
    }
  });
}

export const nameOption = v.pipe(v.unknown(), checked(checkName));
export const durationOption = (least: number) =>
  v.pipe(
    v.unknown(),
    checked<Duration>((field, value) => milliseconds(field, value, least)),
  );
export const functionOption = v.custom((value) => typeof value === "function", "a function");
export const plainObjectOption = v.custom(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "an object",
);

/** A negative number stands for the spec's default. */
export const retriesOption = v.custom(
  (value) => Number.isInteger(value) && (value as number) <= mostRetries,
  `a whole number up to ${mostRetries}`,
);

export const integerOption = (least: number, most: number) =>
  v.custom(
    (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
    `a whole number from ${least} to ${most}`,
  );

export const dateOption = v.custom(
  (value) => value instanceof Date && value.getUTCFullYear() >= 1 && value.getUTCFullYear() <= 9999,
  "a valid Date of the years 1 to 9999",
);

type OptionsSchema = v.GenericSchema & { readonly entries: object };

/**
 * Checks the options of a call.
 *
 * @throws OptionsError naming the call, the option and its value.
 */
export function checkOptions(call: string, schema: OptionsSchema, options: unknown): void {
  const { issues } = v.safeParse(schema, options, { abortEarly: true });
  if (!issues) return;
  const [issue] = issues;
  const field = [call, ...(issue.path ?? []).map((step) => String(step.key))].join(".");
  const value = issue.path ? issue.path.at(-1)?.value : issue.input;
  throw new OptionsError(field, value, expectation(issue, schema));
}

function expectation(issue: v.BaseIssue<unknown>, schema: OptionsSchema): string {
  if (issue.type === "strict_object" && issue.expected === "never") {
    return `one of the options ${Object.keys(schema.entries).join(", ")}`;
  }
  if (issue.type === "strict_object" && issue.path) return "a value: it is required";
  if (issue.type === "strict_object") return "an object of options";
  if (issue.type === "custom") return issue.message;
  return issue.expected ?? issue.message;
}
