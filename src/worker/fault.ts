import { databaseError } from "../queries/schema-error.ts";

const serializationFailure = "40001";
const deadlock = "40P01";
const uniqueViolation = "23505";
const readOnlyTransaction = "25006";
const queryCanceled = "57014";

// Connection exceptions, insufficient resources, and the server going down or coming up.
const outageState = /^(08|53|57P0)/;
const outageCodes = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "CONNECT_TIMEOUT",
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
]);
const outageMessage =
  /connection (terminated|ended|closed)|client has encountered a connection error|timeout exceeded when trying to connect/i;

/** The statement met a concurrent one and did nothing: send it again. */
export function isConflict(error: unknown): boolean {
  const { code } = databaseError(error);
  return code === serializationFailure || code === deadlock || code === uniqueViolation;
}

/** The server is away, overloaded or read-only for now: the same statement may succeed later. */
export function isOutage(error: unknown): boolean {
  const { code } = databaseError(error);
  if (code) return outageState.test(code) || code === readOnlyTransaction || code === queryCanceled;
  return isCut(error);
}

/** Whether the statement may have been committed all the same: the connection ended before its answer came. */
export function isCut(error: unknown): boolean {
  const { code } = databaseError(error);
  if (code) return /^(08|57P0)/.test(code);
  for (let inner = error, depth = 0; inner instanceof Error && depth < 5; depth++) {
    const { code } = inner as { code?: unknown };
    if (outageCodes.has(code as string) || outageMessage.test(inner.message)) return true;
    inner = inner instanceof AggregateError ? inner.errors[0] : inner.cause;
  }
  return false;
}
