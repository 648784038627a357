import { serialize } from "node:v8";

/**
 * Tells whether a value was changed since. Some schemas return the caller's own object, and a handler may write into any
 * depth of it. A value that cannot be serialized, such as one with functions, counts as unchanged.
 */
export function changeDetector(value: unknown): (now: unknown) => boolean {
  const before = bytesOf(value);
  return (now) => {
    if (!before) return false;
    const after = bytesOf(now);
    return after === undefined || !before.equals(after);
  };
}

function bytesOf(value: unknown): Buffer | undefined {
  try {
    return serialize(value);
  } catch {
    return undefined;
  }
}
