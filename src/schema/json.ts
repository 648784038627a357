import { sql } from "drizzle-orm";
import { customType } from "drizzle-orm/pg-core";

/**
 * jsonb that binds and reads exactly on every driver. Drizzle's own is wrong somewhere on each major: it encodes twice on
 * Bun, reads a string that looks like JSON back as an object, and fails on a root `true`.
 */
export const exactJsonb = customType<{ data: unknown; driverData: unknown }>({
  dataType: () => "jsonb",
  toDriver: (value) => sql`${JSON.stringify(value)}::text::jsonb`,
});
