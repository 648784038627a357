import { OptionsError } from "../errors.ts";

/** A difference between what was looked for and what is there. */
export interface Mismatch {
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/**
 * Where `actual` differs from what `expected` says: of an object only the members that are named, a list whole, a Date by
 * its moment, a RegExp by its test, and a matcher of a test framework (`expect.any(String)`) by what it says.
 */
export function mismatches(expected: unknown, actual: unknown, path = ""): Mismatch[] {
  if (isMatcher(expected)) return expected.asymmetricMatch(actual) ? [] : [{ path, expected, actual }];
  if (expected instanceof RegExp && typeof actual === "string") {
    // Without the flags that make a test remember the one before.
    const pattern = new RegExp(expected.source, expected.flags.replace(/[gy]/g, ""));
    return pattern.test(actual) ? [] : [{ path, expected, actual }];
  }
  if (expected instanceof Date && actual instanceof Date) {
    return expected.getTime() === actual.getTime() ? [] : [{ path, expected, actual }];
  }
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length) {
    return expected.flatMap((item, i) => mismatches(item, actual[i], `${path}[${i}]`));
  }
  if (isOpaque(expected)) {
    throw new OptionsError(
      path || "expected",
      expected,
      "a value, or a matcher that has asymmetricMatch (bun:test has none)",
    );
  }
  if (isObject(expected) && isObject(actual)) {
    return Object.entries(expected).flatMap(([name, member]) =>
      mismatches(member, actual[name], path === "" ? name : `${path}.${name}`),
    );
  }
  return Object.is(expected, actual) ? [] : [{ path, expected, actual }];
}

interface Matcher {
  asymmetricMatch(actual: unknown): boolean;
}

function isMatcher(value: unknown): value is Matcher {
  return typeof (value as Partial<Matcher> | null)?.asymmetricMatch === "function";
}

/** An instance that shows no members, and so would match anything. */
function isOpaque(value: unknown): boolean {
  if (!isObject(value) || Object.keys(value).length > 0) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/** Of any class: what counts are its own members. */
function isObject(value: unknown): value is Record<string, unknown> {
  const isOther = Array.isArray(value) || value instanceof Date || value instanceof RegExp;
  return typeof value === "object" && value !== null && !isOther;
}
