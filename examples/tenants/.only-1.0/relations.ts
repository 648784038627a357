import { defineRelations } from "drizzle-orm";
import { queues, tasks, tenants } from "../schema.ts";

const relations = defineRelations({ tenants, tasks, queues }, (r) => ({
  tasks: { tenant: r.one.tenants({ from: r.tasks.tenantId, to: r.tenants.id, optional: false }) },
}));

/** For `drizzle({ client, ...withRelations })`. */
export const withRelations = { relations };
