import * as v from "valibot";
import { OptionsError } from "../errors.ts";
import { type Duration, milliseconds } from "./duration.ts";
import { checkOptions } from "./options.ts";

/** How long the rows of ended jobs are kept. `"forever"`: until you purge them yourself. */
export interface RetainOptions {
  /** From the end of the job. 0: the very statement that ends it deletes its row. Default 1 day. */
  completed?: Duration | "forever" | undefined;
  /** As `completed`. Default `"forever"`. */
  failed?: Duration | "forever" | undefined;
}

/** In milliseconds; `Infinity` is for ever. */
export interface Retention {
  readonly completed: number;
  readonly failed: number;
}

const retainOptions = v.strictObject({ completed: v.optional(v.unknown()), failed: v.optional(v.unknown()) });

/** @throws OptionsError when a time is neither a duration nor `"forever"`. */
export function readRetention(field: string, options: RetainOptions = {}): Retention {
  checkOptions(field, retainOptions, options);
  const { completed = "1d", failed = "forever" } = options;
  return { completed: timeOf(`${field}.completed`, completed), failed: timeOf(`${field}.failed`, failed) };
}

function timeOf(field: string, time: Duration | "forever"): number {
  if (time === "forever") return Number.POSITIVE_INFINITY;
  try {
    return milliseconds(field, time);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    throw new OptionsError(field, time, `${error.expected}, or "forever"`);
  }
}
