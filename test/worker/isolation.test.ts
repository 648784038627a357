import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { expect, test } from "vitest";
import { createDatabase } from "../postgres/database.ts";
import { job, pgqueue, ticker } from "../queries/jobs.ts";
import { observe, until } from "./observed.ts";

test.each(["serializable", "repeatable read"])(
  "a database whose default is %s gets a warning, and all its tasks done by several workers",
  async (isolation) => {
    const database = await createDatabase({ migrated: true });
    await database.client.unsafe(`alter database ${database.name} set default_transaction_isolation = '${isolation}'`);
    const clients = Array.from({ length: 3 }, () => postgres(database.url, { max: 4, onnotice: () => {} }));
    const spec = job({ pollInterval: 50 });
    const sync = ticker({ every: "1h" });
    await pgqueue.enqueueMany(
      database.db,
      spec,
      Array.from({ length: 300 }, (_, payload) => ({ payload })),
    );
    const ran: number[] = [];
    const all = await Promise.all(
      clients.map((client) =>
        observe(drizzle(client), { tolerate: ["warning", "error"] })
          .on(spec, ({ id }) => void ran.push(id))
          .on(sync, () => {})
          .start(),
      ),
    );
    await until(async () => {
      const rows =
        await database.client`select count(*)::int as left from pgqueue_tasks where kind = 'job' and status <> 'completed'`;
      return rows[0]!.left === 0;
    });
    for (const observed of all) {
      expect(observed.of("warning")).toEqual([{ type: "warning", message: expect.stringContaining(`"${isolation}"`) }]);
    }
    expect(new Set(ran).size).toBe(300);
    expect(ran).toHaveLength(300);
    await Promise.all(all.map(({ worker }) => worker.stop()));
    await Promise.all(clients.map((client) => client.end()));
    await database.end();
  },
);

test("read committed gets none", async () => {
  const database = await createDatabase({ migrated: true });
  const observed = await observe(database.db)
    .on(job(), () => {})
    .start();
  expect(observed.events).toEqual([]);
  await observed.worker.stop();
  await database.end();
});
