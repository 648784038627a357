import { asc, eq, sql } from "drizzle-orm";
import { asTenant } from "./as-tenant.ts";
import { bill } from "./bill.ts";
import { close, db } from "./db.ts";
import { pgqueue, sendInvoice } from "./queue.ts";
import { tasks, tenants } from "./schema.ts";
import { worker } from "./worker.ts";

try {
  await db.insert(tenants).values([
    { id: "acme", name: "Acme Ltd" },
    { id: "globex", name: "Globex Inc" },
  ]);
  await bill("acme", "ada@acme.example");
  await bill("acme", "bob@acme.example");
  await bill("globex", "gus@globex.example");

  for (const tenantId of ["acme", "globex", "nobody"]) {
    const visible = await asTenant(tenantId, (tx) => pgqueue.listTasks(tx));
    console.log(`${tenantId} sees ${visible.length} tasks`);
  }
  const forging = asTenant("acme", (tx) =>
    pgqueue.enqueue(tx, sendInvoice, { invoiceId: 99 }, { columns: { tenantId: "globex" } }),
  );
  console.log(`acme enqueues for globex: ${await forging.catch((error) => error.message)}`);

  const [session] = await db.select({ role: sql<string>`current_user` }).from(sql`(select 1)`);
  console.log(
    `${session!.role} sees ${await db.$count(tasks)} tasks, ${await db.$count(tasks, eq(tasks.tenantId, "acme"))} of acme`,
  );
  await worker.drain();

  const withTenants = await db.query.tasks.findMany({ with: { tenant: true }, orderBy: (task) => asc(task.id) });
  for (const { id, status, tenant } of withTenants) console.log(`task ${id} of ${tenant.name}: ${status}`);
  const ofAcme = await pgqueue.listTasks(db, { where: eq(tasks.tenantId, "acme") });
  console.log(`listTasks with where: ${ofAcme.length} of acme`);
} finally {
  await close();
}
