import type { StandardSchemaV1 } from "@standard-schema/spec";
import { OptionsError, PayloadError } from "../errors.ts";
import { exactJson, pathText } from "./exact-json.ts";
import type { Spec } from "./spec.ts";

/** A payload ready to be stored. */
export interface EncodedPayload<Out> {
  /** JSON text of the schema's input. */
  readonly json: string;
  /** The schema's output. */
  readonly parsed: Out;
}

/**
 * Validates a payload and makes the JSON text that is stored.
 *
 * @param root what an error calls the payload
 * @throws PayloadError with the path of the first value that the schema refuses or JSON cannot carry.
 */
export function encodePayload<In, Out>(spec: Spec<In, Out>, payload: unknown, root = "payload"): EncodedPayload<Out> {
  const json = exactJson(payload, root);
  return { json, parsed: validate(spec, payload, root) };
}

/**
 * The payload of a claimed task as its handler gets it: the output of the spec's schema. For a loop of your own; a worker
 * does it for you.
 *
 * @throws PayloadError when the stored payload no longer fits the schema; finalize the task with `fail(error)`.
 * @throws OptionsError when the schema validates asynchronously.
 * @example
 * for (const task of await claim(db, sendReceipt, { limit: 10 })) {
 *   const { orderId } = parsePayload(sendReceipt, task);
 * }
 */
export function parsePayload<In, Out>(spec: Spec<In, Out>, task: { readonly payload: unknown }): Out {
  return validate(spec, task.payload, "payload");
}

function validate<In, Out>(spec: Spec<In, Out>, payload: unknown, root: string): Out {
  const result = spec.schema["~standard"].validate(payload);
  if ("then" in result) {
    // Its rejection is nobody else's to handle.
    result.then(undefined, () => {});
    throw new OptionsError(`${spec.queue}.payload`, spec.schema, "a schema that validates synchronously");
  }
  if (!result.issues) return result.value;
  const issues = result.issues.map((issue) => `${issuePath(root, issue)}: ${issue.message}`);
  const [first] = result.issues;
  if (!first) throw new PayloadError(root, "refused by the schema");
  throw new PayloadError(issuePath(root, first), first.message, issues);
}

function issuePath(root: string, issue: StandardSchemaV1.Issue): string {
  // Not path.map: arktype's path is a class over Array, whose map gives an empty path an item.
  const keys = Array.from(issue.path ?? [], (step) => (typeof step === "object" ? step.key : step));
  return pathText(
    root,
    keys.map((key) => (typeof key === "number" ? key : String(key))),
  );
}
