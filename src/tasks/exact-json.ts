import { PayloadError } from "../errors.ts";

const deepest = 1_000;
const shownDepth = 12;
// Postgres takes no text of 256 MB, and a character may be three bytes.
const longest = 64 * 1024 * 1024;

/**
 * JSON text that reads back as exactly the same value, for Postgres' jsonb. Undefined properties are omitted and -0
 * becomes 0; the order of keys is not kept by jsonb.
 *
 * @param root what the error calls the value, for example `payload`
 * @throws PayloadError with the path of the first value that JSON or jsonb cannot carry.
 */
export function exactJson(value: unknown, root: string): string {
  // With room for some levels: an empty list that grows takes the memory of seventeen.
  check(value, root, ["", "", "", ""], 0);
  const json = stringify(value, root);
  if (json.length > longest)
    throw new PayloadError(root, `too large: ${json.length} characters of JSON, over ${longest}`);
  return json;
}

function stringify(value: unknown, root: string): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // V8 holds no text of half a gigabyte.
    if (error instanceof RangeError) throw new PayloadError(root, `too large: over ${longest} characters of JSON`);
    throw error;
  }
}

// `path` is one array for the whole walk, written at `depth`, so that a value without fault costs no allocation.
function check(value: unknown, root: string, path: (string | number)[], depth: number): void {
  switch (typeof value) {
    case "boolean":
      return;
    case "string":
      return checkText(value, root, path, depth);
    case "number":
      if (!Number.isFinite(value)) refuse(root, path, depth, String(value));
      return;
    case "object":
      if (value === null) return;
      if (depth >= deepest) refuse(root, path, shownDepth, `circular, or nested deeper than ${deepest} levels`);
      return Array.isArray(value) ? checkItems(value, root, path, depth) : checkEntries(value, root, path, depth);
    default:
      refuse(root, path, depth, value === undefined ? "undefined" : `a ${typeof value}`);
  }
}

function checkItems(items: unknown[], root: string, path: (string | number)[], depth: number): void {
  checkToJson(items, root, path, depth);
  for (let i = 0; i < items.length; i++) {
    path[depth] = i;
    check(items[i], root, path, depth + 1);
  }
}

function checkEntries(entries: object, root: string, path: (string | number)[], depth: number): void {
  const prototype = Object.getPrototypeOf(entries);
  // An object of another realm has another Object.prototype, which also has no prototype.
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
    refuse(root, path, depth, `an instance of ${entries.constructor?.name || "a class"}`);
  }
  checkToJson(entries, root, path, depth);
  if (Object.getOwnPropertySymbols(entries).length > 0) refuse(root, path, depth, "an object with a symbol as key");
  // Not Object.keys, which makes a list for each of thousands of payloads a second.
  for (const key in entries) {
    if (!Object.hasOwn(entries, key)) continue;
    const value = (entries as Record<string, unknown>)[key];
    if (value === undefined) continue;
    path[depth] = key;
    checkText(key, root, path, depth + 1);
    check(value, root, path, depth + 1);
  }
}

// Hidden or inherited, it would be no entry, and JSON.stringify would call it all the same.
function checkToJson(value: object, root: string, path: (string | number)[], depth: number): void {
  if (typeof (value as { toJSON?: unknown }).toJSON !== "function") return;
  refuse(root, path, depth, "an object with toJSON");
}

function checkText(text: string, root: string, path: (string | number)[], depth: number): void {
  if (text.includes("\0")) refuse(root, path, depth, "text with a NUL character");
  if (!text.isWellFormed()) refuse(root, path, depth, "text with a lone surrogate");
}

function refuse(root: string, path: (string | number)[], depth: number, what: string): never {
  throw new PayloadError(pathText(root, path.slice(0, depth)), `cannot be stored as JSON: ${what}`);
}

/** `payload.items[3].sku` */
export function pathText(root: string, path: readonly (string | number)[]): string {
  return path.reduce<string>((text, step) => text + (typeof step === "number" ? `[${step}]` : keyText(step)), root);
}

function keyText(key: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
