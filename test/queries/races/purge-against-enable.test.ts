import { afterAll, expect, test } from "vitest";
import { fail } from "../../../src/index.ts";
import { createDatabase } from "../../postgres/database.ts";
import { claimOne, job, pgqueue, rowOf } from "../jobs.ts";
import { begin, blocked, impatient } from "../transactions.ts";

// Retention removes failed tasks while an operator enables one of them.

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);

const failedTask = async () => {
  const spec = job();
  const { id } = await pgqueue.enqueue(db, spec, 1);
  await pgqueue.finalize(db, spec, { task: await claimOne(db, spec), result: fail("x") });
  return { spec, id, options: { queue: spec, status: "failed", olderThan: 0, limit: 10 } as const };
};

test("enable first: the row survives", async () => {
  const { id, options } = await failedTask();
  const operator = await begin(db);
  await pgqueue.enable(operator.tx, id);
  expect(await pgqueue.purge(db, options)).toEqual([]);
  await operator.commit();
  expect(await pgqueue.purge(db, options)).toEqual([]);
  expect((await rowOf(db, id)).status).toBe("pending");
});

test("purge first: the operator is told that there is nothing", async () => {
  const { id, options } = await failedTask();
  const retention = await begin(db);
  expect(await pgqueue.purge(retention.tx, options)).toEqual([{ id }]);
  const enabled = Promise.resolve(pgqueue.enable(db, id));
  await blocked(database);
  await retention.commit();
  expect(await enabled).toEqual([]);
});

test("written naively, with a sub-select that takes no lock, the enabled row is deleted", async () => {
  const { spec, id } = await failedTask();
  const operator = await begin(db);
  await pgqueue.enable(operator.tx, id);
  const purged = Promise.resolve(client`
    delete from pgqueue_tasks where id in (
      select id from pgqueue_tasks where queue = ${spec.queue} and status = 'failed' order by finished_at limit 10)
    returning id, status`);
  await blocked(database);
  await operator.commit();
  expect(await purged).toEqual([{ id: String(id), status: "pending" }]);
});
