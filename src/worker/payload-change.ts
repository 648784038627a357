import { isDeepStrictEqual } from "node:util";
import { serialize } from "node:v8";
import { PayloadError } from "../errors.ts";
import { exactJson } from "../tasks/exact-json.ts";
import { encodePayload } from "../tasks/payload.ts";
import type { Result } from "../tasks/result.ts";
import type { Spec } from "../tasks/spec.ts";
import { keepsPayload } from "../tasks/transition.ts";

/** What a payload was before its handler saw it. */
export type Snapshot = string | Buffer | undefined;

/** Specs whose schema makes what JSON cannot carry, such as a Date. */
const beyondJson = new WeakSet<Spec>();

/** What a handler makes of the payload of its job. */
export class PayloadChanges {
  readonly #spec: Spec;
  readonly #job: { readonly payload: unknown };
  readonly #before: Snapshot;

  /** Made before the handler sees the job. */
  constructor(spec: Spec, job: { readonly payload: unknown }) {
    this.#spec = spec;
    this.#job = job;
    this.#before = snapshotOf(spec, job.payload);
  }

  /** Of the payload as it was, in characters of JSON or in bytes. */
  get size(): number {
    return this.#before?.length ?? 0;
  }

  /**
   * What the result keeps of them, as the input that is to be stored; nothing where there is none.
   *
   * @throws PayloadError as `changeSince`
   */
  keptBy(result: Result): { payload?: unknown } {
    return keepsPayload(this.#spec, result) ? changeSince(this.#spec, this.#before, this.#job.payload) : unchanged;
  }
}

const unchanged: { payload?: never } = {};

/**
 * Some schemas return the caller's own object, and a handler may write into any depth of it, so it is compared with a copy:
 * by its JSON where it has one, which costs a tenth of its bytes.
 */
export function snapshotOf(spec: Spec, payload: unknown): Snapshot {
  if (!beyondJson.has(spec)) {
    const json = jsonOf(payload);
    if (json !== undefined) return json;
    beyondJson.add(spec);
  }
  return bytesOf(payload);
}

/**
 * What a handler made of its payload: nothing where it left it as it was, else the input that is to be stored.
 *
 * @throws PayloadError when what the payload has become cannot be stored.
 */
export function changeSince<In, Out>(spec: Spec<In, Out>, before: Snapshot, now: Out): { payload?: In } {
  return isUnchanged(spec, before, now) ? unchanged : { payload: inputOf(spec, now) };
}

function isUnchanged(spec: Spec, before: Snapshot, now: unknown): boolean {
  if (typeof before === "string") return jsonOf(now) === before;
  // What cannot be serialized, such as a function, cannot be stored either, unless the spec tells how.
  return before ? (bytesOf(now)?.equals(before) ?? false) : !spec.encode;
}

function inputOf<In, Out>(spec: Spec<In, Out>, payload: Out): In {
  if (spec.encode) return spec.encode(payload);
  const { parsed } = encodePayload(spec, payload);
  // An output that the schema takes for an input, and leaves as it is.
  if (isDeepStrictEqual(parsed, payload)) return payload as unknown as In;
  throw new PayloadError(
    "payload",
    "was changed by the handler, and its schema would transform it once more at the next run: give the spec an `encode`, the way back from the schema's output to its input",
  );
}

function jsonOf(value: unknown): string | undefined {
  try {
    return exactJson(value, "payload");
  } catch {
    return undefined;
  }
}

function bytesOf(value: unknown): Buffer | undefined {
  try {
    return serialize(value);
  } catch {
    return undefined;
  }
}
