import { type SQL, sql } from "drizzle-orm";
import { foreignKey, index, integer, pgPolicy, pgRole, pgTable, text } from "drizzle-orm/pg-core";
import { pgqueueTables } from "pgqueue/schema";

/** What serves the tenants' requests: it reaches the rows of one tenant at a time. */
export const appRole = pgRole("pgqueue_example_app").existing();
/** What runs the tasks of all. */
export const workerRole = pgRole("pgqueue_example_worker").existing();

/** Outside of a tenant's transaction it is null or empty, and no row matches. */
const currentTenant = sql`current_setting('app.tenant', true)`;
const policies = (table: string, isOwn: SQL) => [
  pgPolicy(`${table}_of_tenant`, { to: appRole, using: isOwn, withCheck: isOwn }),
  pgPolicy(`${table}_of_all`, { to: workerRole, using: sql`true`, withCheck: sql`true` }),
];

export const tenants = pgTable(
  "tenants",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull(),
  },
  () => policies("tenants", sql`id = ${currentTenant}`),
);

export const invoices = pgTable(
  "invoices",
  {
    id: integer("id").primaryKey().generatedAlwaysAsIdentity(),
    tenantId: text("tenant_id")
      .notNull()
      .references(() => tenants.id),
    email: text("email").notNull(),
  },
  () => policies("invoices", sql`tenant_id = ${currentTenant}`),
);

export const { tasks, queues } = pgqueueTables({
  columns: { tenantId: text("tenant_id").notNull() },
  extraConfig: (table) => [
    foreignKey({ columns: [table.tenantId], foreignColumns: [tenants.id] }),
    index("tasks_by_tenant").on(table.tenantId, table.status),
    ...policies("tasks", sql`tenant_id = ${currentTenant}`),
  ],
});
