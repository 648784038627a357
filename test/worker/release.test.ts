import type postgres from "postgres";
import { expect, test } from "vitest";
import type { JobSpec } from "../../src/tasks/spec.ts";
import type { WorkerEvent } from "../../src/worker/event.ts";
import { Lease } from "../../src/worker/lease.ts";
import { release } from "../../src/worker/release.ts";
import { afterClosings } from "../../src/worker/turn.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { job, pgqueue, rowOf } from "../queries/jobs.ts";
import { recorded } from "../queries/recorder.ts";
import { until } from "./observed.ts";

const refusing = (client: postgres.Sql, code = "P0001") =>
  client.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin
      if new.status = 'pending' and new.payload = '2' then raise 'not this one' using errcode = '${code}'; end if;
      return new;
    end $$;
    create trigger refuse before update on pgqueue_tasks for each row execute function refuse()`);

async function claimedBy(db: TestDatabase["db"], spec: JobSpec, limit: number) {
  const tasks = await pgqueue.claim(db, spec, { limit, started: false });
  const runs = tasks.map((task) => ({ task, lease: new Lease(spec, task, performance.now()) }));
  const { signal } = new AbortController();
  const events: WorkerEvent[] = [];
  const report = (event: WorkerEvent) => void events.push(event);
  const host = { db, pgqueue, workerId: "w", closing: signal, closed: signal, nextTurn: afterClosings, report };
  return { tasks, runs, host, events };
}

test("one row that the database refuses to have given back does not keep the others", async () => {
  const { db, client, end } = await createDatabase({ migrated: true });
  await refusing(client);
  const spec = job();
  await pgqueue.enqueueMany(db, spec, [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
  const { tasks, runs, host, events } = await claimedBy(db, spec, 3);
  await release(host, { spec, handler: () => {} }, runs);
  const refused = tasks.find(({ payload }) => payload === 2)!;
  expect(events).toMatchObject([{ type: "error", during: "release", taskId: refused.id }]);
  for (const { id } of tasks) {
    expect((await rowOf(db, id)).status).toBe(id === refused.id ? "running" : "pending");
  }
  await end();
});

test("it takes few statements to find the one", async () => {
  const database = await createDatabase({ migrated: true });
  const { db, statements } = recorded(database);
  await refusing(database.client);
  const spec = job();
  await pgqueue.enqueueMany(
    db,
    spec,
    Array.from({ length: 256 }, (_, payload) => ({ payload })),
  );
  const { runs, host, events } = await claimedBy(db, spec, 256);
  statements.length = 0;
  await release(host, { spec, handler: () => {} }, runs);
  expect(events).toHaveLength(1);
  expect(statements.length).toBeLessThan(20);
  await database.end();
});

test.each(["57014", "55P03"])("nor does one that ends each statement with %s, which is tried again", async (code) => {
  const { db, client, end } = await createDatabase({ migrated: true });
  await refusing(client, code);
  const spec = job();
  await pgqueue.enqueueMany(
    db,
    spec,
    Array.from({ length: 20 }, (_, payload) => ({ payload })),
  );
  const { tasks, runs, host, events } = await claimedBy(db, spec, 20);
  const released = release(host, { spec, handler: () => {} }, runs);
  const states = tasks.map(({ payload }) => (payload === 2 ? "running" : "pending")).join();
  const rows = () => Promise.all(tasks.map(({ id }) => rowOf(db, id)));
  await until(async () => (await rows()).map(({ status }) => status).join() === states);
  await client.unsafe("drop trigger refuse on pgqueue_tasks");
  await released;
  expect((await rows()).every(({ status }) => status === "pending")).toBe(true);
  expect(events).toEqual([]);
  await end();
});
