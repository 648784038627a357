import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, expect, test } from "vitest";
import { createDatabase } from "../postgres/database.ts";
import { idsOf, job, pgqueue, tasks, ticker } from "../queries/jobs.ts";
import { observe, until } from "./observed.ts";

const database = await createDatabase({ migrated: true });
const { db, client } = database;
afterAll(database.end);

const ended = async (queue: string, status: "completed" | "failed", ages: string[]) => {
  await client`
    insert into pgqueue_tasks (queue, payload, status, finished_at)
    select ${queue}, 'null', ${status}, now() - age::interval from unnest(${ages}::text[]) as ages(age)`;
};
const statusesOf = async (queue: string) => {
  const rows = await client`
    select status, round(extract(epoch from now() - finished_at) / 60)::int as minutes
    from pgqueue_tasks where queue = ${queue} order by status, minutes`;
  return rows.map(({ status, minutes }) => `${status} ${minutes} min`);
};

test("a worker deletes ended jobs past their retention, each status by its own, and nothing else", async () => {
  const spec = job({ retain: { completed: "5m", failed: "20m" } });
  const other = job();
  for (const queue of [spec.queue, other.queue]) {
    await ended(queue, "completed", ["1 min", "6 min", "90 min"]);
    await ended(queue, "failed", ["6 min", "19 min", "21 min"]);
  }
  const short = job({ retain: { completed: "1s", failed: "1s" } });
  await ended(short.queue, "completed", ["1 min"]);
  await pgqueue.enqueue(db, short, 1, { delay: "1h" });
  const worker = observe(db)
    .on(short, () => {})
    .on(spec, () => {});
  await worker.start();
  await until(async () => (await statusesOf(short.queue)).join() === "pending null min", 10_000);
  expect(await statusesOf(other.queue)).toHaveLength(6);
  await until(async () => (await statusesOf(spec.queue)).length === 3, 60_000);
  expect(await statusesOf(spec.queue)).toEqual(["completed 1 min", "failed 6 min", "failed 19 min"]);
}, 90_000);

test("what is kept for ever is kept, and so is a ticker that failed", async () => {
  const spec = job({ retain: { completed: "forever" } });
  const clock = ticker();
  await ended(spec.queue, "completed", ["900 days"]);
  await ended(spec.queue, "failed", ["900 days"]);
  await db.insert(tasks).values({
    queue: clock.queue,
    kind: "ticker",
    key: clock.key,
    status: "failed",
    payload: 1,
    finishedAt: new Date(0),
  });
  const gone = job({ retain: { failed: 0 } });
  await ended(gone.queue, "failed", ["1 min"]);
  const worker = observe(db)
    .on(spec, () => {})
    .on(clock, () => {})
    .on(gone, () => {});
  await worker.start();
  await until(async () => (await idsOf(db, gone)).length === 0);
  expect(await idsOf(db, spec)).toHaveLength(2);
  expect(await idsOf(db, clock)).toHaveLength(1);
});

test("a drain deletes what is kept no longer, once it has run what is due", async () => {
  const spec = job({ hash: () => "one", retain: { completed: "1s" } });
  await ended(spec.queue, "completed", ["2 s"]);
  const [old] = await idsOf(db, spec);
  await pgqueue.enqueue(db, spec, 1);
  const { worker } = observe(db).on(spec, () => {});
  expect(await worker.drain()).toBe(1);
  const left = await idsOf(db, spec);
  expect(left).toHaveLength(1);
  expect(left).not.toContain(old);
});

test("retention keeps up: table and indexes stop growing under work without end", { timeout: 120_000 }, async () => {
  const spec = job({ retain: { completed: "1s" } });
  const worker = observe(db, { concurrency: 50 }).on(spec, () => {});
  await worker.start();
  const sizeAfter = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      const items = Array.from({ length: 2_000 }, (_, payload) => ({ payload }));
      await pgqueue.enqueueMany(db, spec, items);
      const before = worker.of("settled").length;
      await until(() => worker.of("settled").length >= before + 1_000, 30_000);
      // Time goes by: what has ended by now is past its retention, and autovacuum has had its turn.
      await client`update pgqueue_tasks set finished_at = now() - interval '1 h' where status = 'completed' and finished_at > now() - interval '1 h'`;
      if (round % 5 === 4) await client`vacuum pgqueue_tasks`;
    }
    const [row] = await client`select pg_total_relation_size('pgqueue_tasks')::int as bytes`;
    return row!.bytes as number;
  };
  const early = await sizeAfter(10);
  const late = await sizeAfter(30);
  expect(late).toBeLessThan(early * 2);
});

test("what takes too long is deleted in smaller chunks", async () => {
  const own = await createDatabase({ migrated: true });
  await own.client.unsafe(`
    create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.02); return old; end $$;
    create trigger be_slow before delete on pgqueue_tasks for each row execute function be_slow();
    insert into pgqueue_tasks (queue, payload, status, finished_at)
      select 'references', 'null', 'completed', now() - interval '1 hour' from generate_series(1, 80)`);
  const client = postgres(own.url, { max: 1, connection: { statement_timeout: 400 } });
  const spec = job({ queue: "references", retain: { completed: "1m" } });
  const observed = observe(drizzle(client), { tolerate: ["error"] }).on(spec, () => {});
  await observed.worker.drain();
  expect(await own.client`select from pgqueue_tasks`).toHaveLength(0);
  expect(observed.of("error").map(({ during }) => during)).toContain("purge");
  await client.end();
  await own.end();
});
