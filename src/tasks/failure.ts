import type { TaskError } from "../schema/columns.ts";

/** What is known of an error before Postgres dates it. */
export type Failure = Omit<TaskError, "at" | "attempt">;

const longestMessage = 2_000;
const longestStack = 8_000;

/**
 * What is stored of a thrown value, whatever it is: text that Postgres can hold, bounded. Reading it never throws.
 * A database error of Drizzle is recorded by its cause, since its own message holds the statement's parameters.
 */
export function describeFailure(thrown: unknown): Failure {
  try {
    const error = withoutParameters(thrown);
    if (typeof error !== "object" || error === null)
      return { name: "Error", message: storable(text(error), longestMessage) };
    const { name, message, stack } = error as Partial<Error>;
    const failure: Failure = {
      name: storable(typeof name === "string" && name ? name : "Error", 200),
      message: storable(typeof message === "string" ? message : text(error), longestMessage),
    };
    if (typeof stack === "string") failure.stack = storable(stack, longestStack);
    return failure;
  } catch {
    return { name: "Error", message: "an error that cannot be read" };
  }
}

const failedQuery = { name: "DrizzleQueryError", message: "a query failed for an unknown reason" };

function withoutParameters(thrown: unknown): unknown {
  let error = thrown;
  for (let depth = 0; isQueryError(error) && depth < 20; depth++) error = error.cause ?? failedQuery;
  return isQueryError(error) ? failedQuery : error;
}

/** Whether it is Drizzle's, whose message holds the statement's parameters. */
export function isQueryError(error: unknown): error is { readonly cause?: unknown } {
  return typeof error === "object" && error !== null && "query" in error && "params" in error;
}

function text(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value) ?? Object.prototype.toString.call(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function storable(value: string, longest: number): string {
  const short = value.length > longest ? `${value.slice(0, longest)}…` : value;
  return short.replaceAll("\0", "\uFFFD").toWellFormed();
}
