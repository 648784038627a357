export interface DatabaseError {
  /** The SQLSTATE, which Bun calls `errno`. */
  readonly code?: string;
  readonly message?: string;
  /** Whether a function raised it, in so many words, rather than Postgres itself. */
  readonly isRaised?: boolean;
}

/** Postgres' own error inside Drizzle's. */
export function databaseError(error: unknown): DatabaseError {
  for (let inner = error, depth = 0; typeof inner === "object" && inner !== null && depth < 5; depth++) {
    const { code, errno, message, routine, cause } = inner as Record<string, unknown>;
    const state = [errno, code].find((value) => typeof value === "string" && /^[0-9A-Z]{5}$/.test(value));
    if (state) return { code: state as string, message: String(message), isRaised: routine === "exec_stmt_raise" };
    inner = cause;
  }
  return {};
}
