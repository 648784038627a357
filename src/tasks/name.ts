import { OptionsError } from "../errors.ts";

const longestName = 512;

/**
 * Checks a queue, key or hash: text that Postgres stores exactly and that fits an index entry.
 *
 * @throws OptionsError when it is empty, over 512 UTF-8 bytes, or holds a NUL or a lone surrogate.
 */
export function checkName(field: string, name: unknown): string {
  if (typeof name === "string" && name !== "" && isStorable(name) && fits(name)) return name;
  throw new OptionsError(field, name, `1 to ${longestName} UTF-8 bytes of well-formed text without NUL`);
}

/** Whether Postgres can hold this text. */
function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

function fits(name: string): boolean {
  if (name.length * 3 <= longestName) return true;
  return name.length <= longestName && new TextEncoder().encode(name).length <= longestName;
}
