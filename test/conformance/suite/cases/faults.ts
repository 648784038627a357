import assert from "node:assert/strict";
import { eq, sql } from "drizzle-orm";
import { createPgqueue, done, pgqueueTables } from "pgqueue";
import type { Case } from "../case.ts";
import { create } from "../creation.ts";
import { Observed, until } from "../observed.ts";
import { rowsOf } from "../rows.ts";
import { job, pgqueue, tasks } from "../shop.ts";

const { enqueue } = pgqueue;

export const faultCases: readonly Case[] = [
  {
    name: "an outcome that meets a serialization failure is written again, and a refused one is replaced",
    async run(subject) {
      const { db } = subject;
      const { tasks, queues } = pgqueueTables({ prefix: "faulty_" });
      await create(db, { tasks, queues });
      await db.execute(sql`create sequence faulty_tries`);
      await db.execute(sql`
        create function faulty_end() returns trigger language plpgsql as $$ begin
          if new.output = '"conflict"' and nextval('faulty_tries') < 3 then
            raise exception 'met another' using errcode = '40001';
          elsif new.output = '"refused"' then
            raise exception 'not this one' using errcode = '23514';
          end if;
          return new;
        end $$`);
      await db.execute(sql`
        create trigger faulty before update on ${tasks} for each row execute function faulty_end()`);
      const faulty = createPgqueue({ tasks, queues });
      const spec = job({ retryDelay: "1h" });
      const answers = await faulty.enqueueMany(db, spec, [{ payload: "conflict" }, { payload: "refused" }]);
      const observed = new Observed(subject, { pgqueue: faulty, listen: false });
      let runs = 0;
      observed.worker.register(spec, ({ payload }) => {
        runs++;
        return done(payload);
      });
      await observed.worker.drain();
      assert.equal(runs, 2);
      const [conflict, refused] = await Promise.all(answers.map(async ({ id }) => (await faulty.getTask(db, id))[0]));
      assert.deepEqual([conflict?.status, conflict?.output], ["completed", "conflict"]);
      assert.deepEqual([refused?.status, refused?.errors?.length], ["pending", 1]);
    },
  },
  {
    name: "a worker outlives its connections",
    needs: ["connections"],
    async run(subject) {
      const { db } = subject;
      const other = await subject.another();
      const spec = job({ pollInterval: 50 });
      const observed = new Observed(subject);
      observed.worker.register(spec, () => done());
      await observed.worker.start();
      await enqueue(db, spec, 1);
      await observed.settled(1);
      await rowsOf(
        other,
        sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`,
      );
      // A pooler hands out a connection of its own that has ended, until it has noticed.
      await until(() => succeeds(enqueue(other, spec, 2)));
      await observed.settled(2);
      // The connections that the next cases use.
      await until(() => succeeds(db.select({ id: tasks.id }).from(tasks).where(eq(tasks.id, 0))));
    },
  },
];

function succeeds(query: PromiseLike<unknown>): Promise<boolean> {
  return Promise.resolve(query).then(
    () => true,
    () => false,
  );
}
