import type { Db } from "./statement.ts";

/** The drivers that are known from others. A transaction does not show its driver. */
export type Driver = "PGlite" | "postgres.js" | "node-postgres pool";

export function driverOf(db: Db): Driver | undefined {
  const client = clientOf(db);
  if (typeof client?.listen === "function") return typeof client.exec === "function" ? "PGlite" : "postgres.js";
  return typeof client?.Client === "function" && typeof client.options === "object" ? "node-postgres pool" : undefined;
}

// The clients of drivers have no type in common: what matters is found by its name.
export function clientOf(db: Db): any {
  const { $client, $primary } = db as { $client?: unknown; $primary?: { $client?: unknown } };
  return $primary?.$client ?? $client;
}
