import { checkName } from "../tasks/name.ts";
import type { Spec } from "../tasks/spec.ts";

/** A queue by its name, or by a spec of its tasks. */
export type Queue = string | Pick<Spec, "queue">;

/** @throws OptionsError when it is neither. */
export function queueName(call: string, queue: Queue): string {
  return checkName(`${call}.queue`, typeof queue === "object" && queue !== null ? queue.queue : queue);
}
