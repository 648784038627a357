import { OptionsError } from "../errors.ts";

/** @throws OptionsError when it is not the id of a task. */
export function checkTaskId(call: string, id: unknown): void {
  if (!Number.isSafeInteger(id)) throw new OptionsError(`${call}.id`, id, "the id of a task");
}
