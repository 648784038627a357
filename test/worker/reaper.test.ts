import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobSpec } from "../../src/tasks/spec.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { expire, job, pgqueue, rowOf } from "../queries/jobs.ts";
import { recorded } from "../queries/recorder.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
  await database.client.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin
      if old.status = 'running' and new.status <> 'running' and new.payload->>'refused' = 'true' then
        raise 'not this one' using errcode = coalesce(new.payload->>'code', 'P0001');
      end if;
      return new;
    end $$;
    create trigger refuse before update on pgqueue_tasks for each row execute function refuse();`);
});
afterAll(() => database.end());

/** Tasks of a dead worker, in the order in which their leases ended; the table refuses to have some of them reaped. */
async function expired(spec: JobSpec, refused: readonly boolean[], code?: string): Promise<number[]> {
  const rows = await pgqueue.enqueueMany(
    database.db,
    spec,
    refused.map((is) => ({ payload: { refused: is, code } })),
  );
  const ids = rows.map(({ id }) => id);
  await pgqueue.claim(database.db, spec, { limit: ids.length, workerId: "the dead one" });
  await expire(database.db, ...ids);
  for (const [i, id] of ids.entries()) {
    await database.client`
      update pgqueue_tasks set lease_until = lease_until + ${i}::int * interval '1 ms' where id = ${id}`;
  }
  return ids;
}

const statuses = async (ids: readonly number[]) => {
  const rows = await Promise.all(ids.map((id) => rowOf(database.db, id)));
  return rows.map(({ status }) => status);
};

test("rows that the table refuses to have reaped do not keep those behind them, and are told of once a round", async () => {
  const spec = job({ retryDelay: "1h" });
  const ids = await expired(spec, [false, true, false, true, false]);
  const observed = await observe(database.db, { tolerate: ["error"], reapInterval: 2_000 })
    .on(spec, () => {})
    .start();
  const states = ["pending", "running", "pending", "running", "pending"];
  await until(async () => (await statuses(ids)).join() === states.join());
  // The first is of the start, which tries all of them once.
  const told = observed.of("error");
  expect(told).toMatchObject(Array(3).fill({ during: "reap", queue: spec.queue }));
});

test.each([
  ["runs into a timeout", "57014"],
  ["meets a lock for too long", "55P03"],
  ["meets a conflict each time", "40001"],
])("nor does a row that %s", async (_, code) => {
  const spec = job({ retryDelay: "1h" });
  const ids = await expired(spec, [true, false], code);
  const observed = await observe(database.db, { tolerate: ["error"], reapInterval: 300 })
    .on(spec, () => {})
    .start();
  await until(async () => (await statuses(ids)).join() === "running,pending");
  await observed.worker.stop();
});

test("where each row is refused a round ends soon, and the next goes on behind them", async () => {
  const spec = job({ retryDelay: "1h" });
  const ids = await expired(spec, [...Array(15).fill(true), false]);
  const { db, statements } = recorded(database);
  const observed = await observe(db, { tolerate: ["error"], reapInterval: 2_000, listen: false })
    .on(spec, () => {})
    .start();
  await until(() => observed.of("error").length >= 1 + 10);
  const last = async () => (await statuses(ids)).at(-1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await last()).toBe("running");
  expect(observed.of("error")).toHaveLength(1 + 10);
  // The one of the start, 100, 50, … and 1, and one for each of the other nine.
  expect(statements.filter((text) => text.startsWith('with "expired"'))).toHaveLength(1 + 7 + 9);
  await until(async () => (await last()) === "pending");
});

test("once none is refused any more all are reaped", async () => {
  const spec = job({ retryDelay: "1h" });
  const ids = await expired(spec, [true, false]);
  const observed = await observe(database.db, { tolerate: ["error"], reapInterval: 300 })
    .on(spec, () => {})
    .start();
  await until(async () => (await statuses(ids)).join() === "running,pending");
  await database.client`alter table pgqueue_tasks disable trigger refuse`;
  await until(async () => (await statuses(ids)).join() === "pending,pending");
  await database.client`alter table pgqueue_tasks enable trigger refuse`;
  await observed.worker.stop();
});
