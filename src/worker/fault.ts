import { databaseError } from "../queries/database-error.ts";

const serializationFailure = "40001";
const deadlock = "40P01";
const uniqueViolation = "23505";
const readOnlyTransaction = "25006";
const queryCanceled = "57014";
const lockNotAvailable = "55P03";

// Connection exceptions, insufficient resources, and the server going down or coming up.
const outageState = /^(08|53|57P0)/;
// No session: the server comes up, or the connection was never established.
const refusalState = /^(57P03|08001|08004)$/;
const cutCodes = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "ECONNABORTED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ERR_POSTGRES_CONNECTION_CLOSED",
  "ERR_POSTGRES_IDLE_TIMEOUT",
  "ERR_POSTGRES_LIFETIME_TIMEOUT",
  "ETIMEDOUT",
]);
const refusalCodes = new Set([
  "CONNECTION_ENDED",
  "CONNECT_TIMEOUT",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ENOENT",
  "ENOTFOUND",
  "ERR_POSTGRES_CONNECTION_REFUSED",
  "ERR_POSTGRES_CONNECTION_TIMEOUT",
]);
const refusalMessage = /timeout exceeded when trying to connect|terminated due to connection timeout/i;
const cutMessage = /connection (terminated|ended|closed)|client has encountered a connection error/i;
// What query_timeout of node-postgres says; the statement goes on at the server.
const timeoutMessage = /^query read timeout$/i;

// Of the session, the server, its tables and its rights: whatever the rows of a statement are.
const surroundingsState = /^(0[8AB]|2[568D]|34|3[BDF]|40|42|5[3578]|F0|XX)/;

/** The statement met a concurrent one and did nothing: send it again. */
export function isConflict(error: unknown): boolean {
  const { code } = databaseError(error);
  return code === serializationFailure || code === deadlock;
}

/** Another row has what this one would have had. */
export function isUniqueViolation(error: unknown): boolean {
  return databaseError(error).code === uniqueViolation;
}

/** The server is away, overloaded or read-only for now: the same statement may succeed later. */
export function isOutage(error: unknown): boolean {
  if (lossOf(error)) return true;
  const { code = "" } = databaseError(error);
  return outageState.test(code) || [readOnlyTransaction, queryCanceled, lockNotAvailable].includes(code);
}

/** The statement took too long: fewer rows may do. */
export function isTimeout(error: unknown): boolean {
  return lossOf(error) === "timeout" || databaseError(error).code === queryCanceled;
}

/** Whether the statement may have been committed all the same: its answer never came. */
export function isCut(error: unknown): boolean {
  const loss = lossOf(error);
  if (loss) return loss !== "refused";
  const { code = "" } = databaseError(error);
  return /^(08|57P0)/.test(code) && !refusalState.test(code);
}

/** Whether it is the rows of the statement that are refused: by a constraint, by a trigger, or by what encodes them. */
export function isRefusal(error: unknown): boolean {
  if (isOutage(error) || isConflict(error)) return false;
  const { code, isRaised } = databaseError(error);
  // Without a state it comes from Drizzle's driver, or else from before.
  if (code === undefined) return !(error instanceof Error && "params" in error);
  return isRaised || !surroundingsState.test(code);
}

/** Whether one row may be why the statement failed: it is refused, or a trigger of the user's is slow or meets a lock. */
export function mayBeOfOneRow(error: unknown): boolean {
  const { code } = databaseError(error);
  return isRefusal(error) || isTimeout(error) || isConflict(error) || code === lockNotAvailable;
}

/** What became of the connection, as the driver or the operating system puts it; SQLSTATEs are no matter here. */
function lossOf(error: unknown): "cut" | "refused" | "timeout" | undefined {
  for (let inner = error, depth = 0; inner instanceof Error && depth < 5; depth++) {
    const { code, message } = inner as Error & { code?: string };
    // Other messages may hold values of the user: Drizzle's the parameters, Postgres' whatever it refuses.
    const text = code === undefined && !("params" in inner) ? message : "";
    if (refusalCodes.has(code!) || refusalMessage.test(text)) return "refused";
    if (cutCodes.has(code!) || cutMessage.test(text)) return "cut";
    if (timeoutMessage.test(text)) return "timeout";
    inner = inner instanceof AggregateError ? inner.errors[0] : inner.cause;
  }
  return undefined;
}
