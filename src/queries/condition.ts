import { is, SQL } from "drizzle-orm";
import * as v from "valibot";

/** A condition of the user's own, as Drizzle's operators make. */
export const conditionOption = v.custom(
  (value) => is(value, SQL),
  "a condition: eq(tasks.tenantId, id), for example, or sql`...`",
);
