import { isDeepStrictEqual } from "node:util";
import { serialize } from "node:v8";
import { PayloadError } from "../errors.ts";
import { exactJson } from "../tasks/exact-json.ts";
import { encodePayload } from "../tasks/payload.ts";
import type { Spec } from "../tasks/spec.ts";

/**
 * Tells what a handler made of its payload: nothing where it left it as it was, else the input that is to be stored. Some
 * schemas return the caller's own object, and a handler may write into any depth of it, so it is compared with a snapshot.
 *
 * @returns a function that throws PayloadError when what the payload has become cannot be stored.
 */
export function watchPayload<In, Out>(spec: Spec<In, Out>, payload: Out): (now: Out) => { payload?: In } {
  const isUnchanged = unlessChanged(spec, payload);
  return (now) => (isUnchanged(now) ? {} : { payload: inputOf(spec, now) });
}

function inputOf<In, Out>(spec: Spec<In, Out>, payload: Out): In {
  if (spec.encode) return spec.encode(payload);
  const { parsed } = encodePayload(spec, payload);
  if (isDeepStrictEqual(parsed, payload)) return payload as unknown as In;
  throw new PayloadError(
    "payload",
    "was changed by the handler, and its schema would transform it once more at the next run: give the spec an `encode`, the way back from the schema's output to its input",
  );
}

/** Specs whose schema makes what JSON cannot carry, such as a Date. */
const beyondJson = new WeakSet<Spec>();

/** By its JSON where it has one, which costs a tenth of its bytes. */
function unlessChanged(spec: Spec, payload: unknown): (now: unknown) => boolean {
  if (!beyondJson.has(spec)) {
    const before = jsonOf(payload);
    if (before !== undefined) return (now) => jsonOf(now) === before;
    beyondJson.add(spec);
  }
  const before = bytesOf(payload);
  // What cannot be serialized, such as a function, cannot be stored either, unless the spec tells how.
  return (now) => (before ? (bytesOf(now)?.equals(before) ?? false) : !spec.encode);
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
