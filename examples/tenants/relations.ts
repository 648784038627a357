import { relations } from "drizzle-orm";
import * as tables from "./schema.ts";

const taskRelations = relations(tables.tasks, ({ one }) => ({
  tenant: one(tables.tenants, { fields: [tables.tasks.tenantId], references: [tables.tenants.id] }),
}));

/** For `drizzle({ client, ...withRelations })`. */
export const withRelations = { schema: { ...tables, taskRelations } };
