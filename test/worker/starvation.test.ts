import { sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { type Claimed, done, fail, type JobSpec, retry } from "../../src/index.ts";
import { Watermark } from "../../src/worker/watermark.ts";
import { createDatabase } from "../postgres/database.ts";
import { job, pgqueue } from "../queries/jobs.ts";
import { begin } from "../queries/transactions.ts";

const database = await createDatabase({ migrated: true, client: { max: 20 } });
const { db, client } = database;
afterAll(database.end);

/** What a worker does of claiming, at a time of its own. */
class Claiming {
  readonly #watermark: Watermark;
  readonly #spec: JobSpec;
  held: Claimed<any>[] = [];

  constructor(spec: JobSpec, clock: { now: number }) {
    this.#spec = spec;
    this.#watermark = new Watermark(() => clock.now);
  }

  /** As a worker's claimer: nothing only when nothing is due. */
  async claim(limit: number, sentAt: number): Promise<Claimed<any>[]> {
    const after = this.#watermark.next();
    const tasks = await pgqueue.claim(db, this.#spec, { limit, after });
    this.#watermark.passed(tasks, { after, limit, sentAt });
    this.held.push(...tasks);
    return tasks.length > 0 || after.length === 0 ? tasks : this.claim(limit, sentAt);
  }
}

const dueIds = async ({ queue }: JobSpec): Promise<number[]> => {
  const rows = await client`
    select id from pgqueue_tasks where queue = ${queue} and status = 'pending' and run_at <= statement_timestamp()`;
  return rows.map(({ id }) => Number(id));
};

const claimers = 3;
const which = fc.nat({ max: claimers - 1 });
const count = fc.integer({ min: 1, max: 8 });
const priority = fc.nat({ max: 9 });
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("enqueue" as const), count, priority }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("claim" as const), which, count }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("end" as const), which, how: fc.nat({ max: 3 }) }) },
  fc.record({ do: fc.constant("enqueue late" as const), count, priority }),
  fc.record({ do: fc.constant("commit" as const) }),
  fc.record({ do: fc.constant("enable" as const) }),
  fc.record({ do: fc.constant("requeue into the past" as const) }),
  fc.record({ do: fc.constant("change priorities" as const), priority }),
  fc.record({ do: fc.constant("wait" as const), milliseconds: fc.integer({ min: 1, max: 400 }) }),
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

async function play(spec: JobSpec, actions: readonly Action[]) {
  const clock = { now: 0 };
  const workers = Array.from({ length: claimers }, () => new Claiming(spec, clock));
  const late: Awaited<ReturnType<typeof begin>>[] = [];
  const items = (n: number, priority: number) => Array.from({ length: n }, (_, payload) => ({ payload, priority }));
  const ofQueue = sql`queue = ${spec.queue}`;
  for (const step of actions) {
    clock.now++;
    switch (step.do) {
      case "enqueue":
        await pgqueue.enqueueMany(db, spec, items(step.count, step.priority));
        break;
      case "enqueue late": {
        const transaction = await begin(db);
        await pgqueue.enqueueMany(transaction.tx, spec, items(step.count, step.priority));
        late.push(transaction);
        break;
      }
      case "commit":
        await late.shift()?.commit();
        break;
      case "claim":
        await workers[step.which]!.claim(step.count, clock.now);
        break;
      case "end": {
        const { held } = workers[step.which]!;
        const tasks = held.splice(0);
        if (step.how === 3) await pgqueue.release(db, spec, tasks);
        else {
          const result = [done(), retry("again"), fail("no")][step.how]!;
          await pgqueue.finalize(
            db,
            spec,
            tasks.map((task) => ({ task, result })),
          );
        }
        break;
      }
      case "enable":
        for (const { id } of await pgqueue.listTasks(db, { queue: spec, status: "failed", limit: 3 })) {
          await pgqueue.enable(db, id);
        }
        break;
      case "requeue into the past": {
        const [task] = await pgqueue.listTasks(db, { queue: spec, status: "completed", limit: 1 });
        if (task) await pgqueue.requeue(db, task.id, new Date("2020-01-01T00:00:00Z"));
        break;
      }
      case "change priorities":
        await db.execute(sql`update pgqueue_tasks set priority = ${step.priority} where ${ofQueue} and id % 3 = 0`);
        break;
      case "wait":
        clock.now += step.milliseconds;
        break;
    }
  }
  const commit = async () => {
    for (const transaction of late) await transaction.commit();
  };
  return { clock, workers, commit };
}

test("whatever happened, each claimer by itself finds all that is due", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), which, async (actions, last) => {
      const spec = job({ retryDelay: 0, maxRetries: 100 });
      const { clock, workers, commit } = await play(spec, actions);
      await commit();
      while ((await workers[last]!.claim(4, ++clock.now)).length > 0);
      expect(await dueIds(spec)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test("and while new tasks fill each of its batches, it has all that was due before within a second and its batches", {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), which, async (actions, last) => {
      const spec = job({ retryDelay: 0, maxRetries: 100 });
      const { clock, workers, commit } = await play(spec, actions);
      const limit = 4;
      const pace = 100;
      // Its batches are full, so that it goes on from the last one, when earlier tasks come in behind.
      for (let i = 0; i < 2; i++) {
        await pgqueue.enqueueMany(
          db,
          spec,
          Array.from({ length: limit }, () => ({ payload: "full" })),
        );
        await workers[last]!.claim(limit, clock.now);
      }
      await commit();
      await pgqueue.enqueueMany(
        db,
        spec,
        [0, 9].map((priority) => ({ payload: "old", priority, runAt: new Date("2020-01-01T00:00:00Z") })),
      );
      const waiting = new Set(await dueIds(spec));
      const most = Math.ceil(waiting.size / limit) + 1_000 / pace + 1;
      for (let claims = 0; claims < most && waiting.size > 0; claims++) {
        await pgqueue.enqueueMany(
          db,
          spec,
          Array.from({ length: 2 * limit }, () => ({ payload: "new", priority: 9 })),
        );
        const tasks = await workers[last]!.claim(limit, clock.now);
        expect(tasks).toHaveLength(limit);
        for (const { id } of tasks) waiting.delete(id);
        clock.now += pace;
      }
      expect([...waiting]).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
