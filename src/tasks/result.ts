/** What a handler says of its run. Made by `done`, `retry`, `fail` and `skip`. */
export type Result =
  | { readonly type: "done"; readonly output?: unknown }
  | { readonly type: "retry" | "fail" | "skip"; readonly error: unknown };

/**
 * The run succeeded: a job is completed, a ticker runs again after `every`. A changed payload is kept.
 *
 * @param output stored with the task; anything that JSON carries exactly
 * @example return done({ sent: 3 });
 */
export const done = (output?: unknown): Result => (output === undefined ? { type: "done" } : { type: "done", output });

/**
 * The run failed and may succeed later: again after attempt × `retryDelay`. After `maxRetries` a job is failed and a
 * ticker waits for its next tick. The payload stays as it was. A handler that throws says the same.
 *
 * @example return retry(new Error("the mail server is away"));
 */
export const retry = (error: unknown): Result => ({ type: "retry", error });

/**
 * The run failed for good: no retry, for a ticker too. The payload stays as it was.
 *
 * @example return fail("no such customer");
 */
export const fail = (error: unknown): Result => ({ type: "fail", error });

/**
 * This run of a ticker came to nothing: try again after `every`, keeping a changed payload. For a job the same as `fail`.
 *
 * @example return skip("the source is being rebuilt");
 */
export const skip = (error: unknown): Result => ({ type: "skip", error });

const types = new Set(["done", "retry", "fail", "skip"]);

export function isResult(value: unknown): value is Result {
  return typeof value === "object" && value !== null && types.has((value as Result).type);
}
