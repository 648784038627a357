import type { TableSet } from "./user-code.ts";

/** Sets of tables by every option, side by side in one schema of a user's. */
export const schemaOfSets = `
import { sql } from "drizzle-orm";
import { foreignKey, index, integer, pgPolicy, pgSchema, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core";
import { pgqueueTables } from "pgqueue/schema";

export const orders = pgTable("orders", { id: integer("id").primaryKey(), email: text("email").notNull() });
export const jobs = pgSchema("jobs");

export const { tasks, queues } = pgqueueTables();
export const { tasks: mailTasks, queues: mailQueues } = pgqueueTables({ prefix: "mail_" });
export const { tasks: jobTasks, queues: jobQueues } = pgqueueTables({ schema: jobs });
export const { tasks: cityTasks, queues: cityQueues } = pgqueueTables({ prefix: "city_", distributed: true });
export const { tasks: orderTasks, queues: orderQueues } = pgqueueTables({
  prefix: "order_",
  columns: { orderId: integer("order_id").notNull(), tenant: text("tenant").notNull().default("none") },
  extraConfig: (t) => [
    index("tasks_by_tenant").on(t.tenant, t.status),
    uniqueIndex("pending_by_order").on(t.orderId).where(sql\`\${t.status} = 'pending'\`),
    foreignKey({ columns: [t.orderId], foreignColumns: [orders.id], name: "tasks_order" }).onDelete("cascade"),
    pgPolicy("tasks_of_tenant", { for: "all", using: sql\`\${t.tenant} = current_setting('app.tenant', true)\` }),
  ],
});
`;

const names = ["tasks", "mailTasks", "jobTasks", "cityTasks", "orderTasks"];

export const sets: readonly TableSet[] = names.map((tasks) => ({
  module: "./schema.ts",
  exports: [tasks, tasks.replace(/tasks$/i, (word) => (word === "tasks" ? "queues" : "Queues"))],
}));
