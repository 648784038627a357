/** Postgres' own error inside Drizzle's: `code` is the SQLSTATE, which Bun calls `errno`. */
export function databaseError(error: unknown): { code?: string; message?: string } {
  for (let inner = error, depth = 0; typeof inner === "object" && inner !== null && depth < 5; depth++) {
    const { code, errno, message, cause } = inner as Record<string, unknown>;
    const state = [errno, code].find((value) => typeof value === "string" && /^[0-9A-Z]{5}$/.test(value));
    if (state) return { code: state as string, message: String(message) };
    inner = cause;
  }
  return {};
}
