import { PGlite } from "@electric-sql/pglite";
import { sql } from "drizzle-orm";
import { drizzle as mysqlProxy } from "drizzle-orm/mysql-proxy";
import { drizzle as onPool } from "drizzle-orm/node-postgres";
import { drizzle as onPglite } from "drizzle-orm/pglite";
import { drizzle } from "drizzle-orm/postgres-js";
import { drizzle as sqliteProxy } from "drizzle-orm/sqlite-proxy";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AccessError, ConflictError, done, migrate, OptionsError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { observe } from "../worker/observed.ts";
import { claimNew, idsOf, job, pgqueue, tasks } from "./jobs.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);

describe("a read-only connection", () => {
  const refused = { name: "AccessError", code: "PGQUEUE_ACCESS", message: expect.stringMatching(/read only.*primary/) };

  test.each([
    ["enqueue", () => pgqueue.enqueue],
    ["enqueueMany", () => (tx: never, spec: never) => pgqueue.enqueueMany(tx, spec, [{ payload: 1 }])],
    ["claim", () => (tx: never, spec: never) => pgqueue.claim(tx, spec, { limit: 1 })],
    ["reap", () => (tx: never, spec: never) => pgqueue.reap(tx, spec)],
  ])("refuses %s in words, and loses nothing", async (_, call) => {
    const spec = job();
    const run = db.transaction((tx) => Promise.resolve(call()(tx as never, spec as never, 1 as never)), {
      accessMode: "read only",
    });
    await expect(run).rejects.toMatchObject({ ...refused, cause: { cause: { code: "25006" } } });
    expect(await idsOf(db, spec)).toEqual([]);
  });

  test("is told by a worker that waits for better days", async () => {
    const client = postgres(database.url, { connection: { default_transaction_read_only: true }, max: 2 });
    const spec = job();
    const { id } = await pgqueue.enqueue(db, spec, 1);
    const observed = observe(drizzle({ client }), { tolerate: ["error"] }).on(spec, () => {});
    const started = observed.worker.start();
    // Beside tests that make and drop databases, connecting alone was seen to take nine seconds.
    const [event] = await observed.seen("error", 1, 45_000);
    expect(event).toMatchObject({ type: "error", error: { name: "AccessError" } });
    await observed.worker.stop();
    await started;
    await client.end();
    expect((await pgqueue.getTask(db, id))[0]?.status).toBe("pending");
  }, 60_000);
});

describe("a role without rights", () => {
  const role = `clerk_${crypto.randomUUID().slice(0, 8)}`;
  const as = <T>(run: (tx: Parameters<Parameters<typeof db.transaction>[0]>[0]) => Promise<T>) =>
    db.transaction(async (tx) => {
      await tx.execute(sql.raw(`set local role ${role}`));
      return run(tx);
    });
  beforeAll(async () => {
    await db.execute(sql.raw(`create role ${role}`));
  });
  afterAll(async () => {
    await db.execute(sql.raw(`drop owned by ${role}`));
    await db.execute(sql.raw(`drop role ${role}`));
  });

  test("is told what to grant, and then is served", { timeout: 60_000 }, async () => {
    const spec = job();
    const attempt = () => as((tx) => pgqueue.enqueue(tx, spec, 1));
    await expect(attempt()).rejects.toThrow(AccessError);
    await expect(attempt()).rejects.toThrow(
      /permission denied for table pgqueue_tasks.*grant.*usage.*select, insert, update, delete on pgqueue_tasks and pgqueue_queues/,
    );
    await db.execute(sql.raw(`grant select, insert, update, delete on pgqueue_tasks, pgqueue_queues to ${role}`));
    const { id } = await attempt();
    const [task] = await as(async (tx) => pgqueue.claim(tx, spec, { limit: 1 }));
    expect(task?.id).toBe(id);
    await as((tx) => pgqueue.finalizeOrThrow(tx, spec, { task: task!, result: done() }));
  });

  test("and without a policy, that a policy is missing", async () => {
    await db.execute(sql.raw(`grant select, insert, update, delete on pgqueue_tasks, pgqueue_queues to ${role}`));
    await db.execute(sql`alter table ${tasks} enable row level security`);
    try {
      await expect(as((tx) => pgqueue.enqueue(tx, job(), 1))).rejects.toMatchObject({
        name: "AccessError",
        message: expect.stringMatching(/row-level security.*policy/),
      });
    } finally {
      await db.execute(sql`alter table ${tasks} disable row level security`);
    }
  });

  test("of a table of the user's own is the user's own error", async () => {
    await db.execute(sql`create table if not exists secrets (id int)`);
    const error = await as((tx) => tx.execute(sql`select * from secrets`)).catch((error) => error);
    expect(error).not.toBeInstanceOf(AccessError);
  });
});

describe("codes that the user's own trigger or table answers with", () => {
  const causes: [string, string][] = [
    ["a raised 42501", "raise 'the tenant schema is locked' using errcode = '42501'"],
    ["a raised 25006", "raise 'the shop is in maintenance' using errcode = '25006'"],
    ["a denied table whose name ends like ours", "perform 1 from audit_pgqueue_tasks"],
  ];
  test.each(causes)("%s stays the user's own error", async (_, body) => {
    const own = await createDatabase({ migrated: true });
    const role = `clerk_${crypto.randomUUID().slice(0, 8)}`;
    await own.client.unsafe(`create table audit_pgqueue_tasks (id int); create role ${role};
      grant all on pgqueue_tasks, pgqueue_queues to ${role};
      create function refuse() returns trigger language plpgsql as $$ begin ${body}; return new; end $$;
      create trigger refuse before insert on pgqueue_tasks for each row execute function refuse()`);
    const error = await own.db
      .transaction(async (tx) => {
        await tx.execute(sql.raw(`set local role ${role}`));
        await pgqueue.enqueue(tx, job(), 1);
      })
      .catch((error) => error);
    expect(error).not.toBeInstanceOf(AccessError);
    expect(error.cause.code).toMatch(/^(42501|25006)$/);
    await own.client.unsafe(`drop owned by ${role}; drop role ${role}`);
    await own.end();
  });
});

describe("a transaction that has ended", () => {
  const pool = new pg.Pool({ connectionString: database.url });
  const lite = PGlite.create();
  afterAll(async () => {
    await pool.end();
    await (await lite).close();
  });
  const databases = {
    "node-postgres": async () => onPool({ client: pool }),
    PGlite: async () => {
      const db = onPglite({ client: await lite });
      await migrate(db);
      return db;
    },
  };

  test.each(Object.entries(databases))("is refused on %s, committed or rolled back", async (_, open) => {
    const own = await open();
    const spec = job();
    const ended: unknown[] = [];
    await own.transaction(async (tx) => {
      ended.push(tx);
      await pgqueue.enqueue(tx, spec, 1);
    });
    await own
      .transaction(async (tx) => {
        ended.push(tx);
        throw new Error("undo");
      })
      .catch(() => {});
    for (const tx of ended as (typeof own)[]) {
      const calls = [
        async () => pgqueue.enqueue(tx, spec, 2),
        async () => pgqueue.enqueueMany(tx, spec, [{ payload: 2 }]),
        async () => pgqueue.claim(tx, spec, { limit: 1 }),
      ];
      for (const call of calls) {
        await expect(call()).rejects.toThrow(ConflictError);
        await expect(call()).rejects.toThrow(/transaction has ended.*await/);
      }
    }
    expect(await idsOf(own, spec)).toHaveLength(1);
  });

  test("is not mistaken for one whose statement failed, or for a nested one", async () => {
    const own = onPool({ client: pool });
    const spec = job();
    await own.transaction(async (tx) => {
      await tx.transaction((nested) => nested.execute(sql`select 1 / 0`)).catch(() => {});
      await tx.transaction((nested) => pgqueue.enqueue(nested, spec, 1));
      await pgqueue.enqueue(tx, spec, 2);
    });
    expect(await idsOf(db, spec)).toHaveLength(2);
    const aborted = own.transaction(async (tx) => {
      await tx.execute(sql`select 1 / 0`).catch(() => {});
      await pgqueue.enqueue(tx, spec, 3);
    });
    await expect(aborted).rejects.toMatchObject({ cause: { code: "25P02" } });
  });
});

describe("a database of another dialect", () => {
  const nobody = async () => ({ rows: [] });
  test.each([
    ["MySQL", mysqlProxy(nobody)],
    ["SQLite", sqliteProxy(nobody)],
    ["nothing", undefined],
    ["a client without Drizzle", database.client],
    ["what `with` returns", db.with(db.$with("x").as(db.select().from(tasks)))],
  ])("%s is refused by name", async (_, other) => {
    const spec = job();
    const [task] = await claimNew(db, job(), 1);
    const calls: [string, () => unknown][] = [
      ["enqueue", () => pgqueue.enqueue(other as never, spec, 1)],
      ["claim", () => pgqueue.claim(other as never, spec, { limit: 1 })],
      [
        "finalize",
        () => pgqueue.finalize(other as never, spec, { task: { ...task!, queue: spec.queue }, result: done() }),
      ],
      ["getTask", () => pgqueue.getTask(other as never, 1)],
    ];
    for (const [name, call] of calls) {
      const error = await Promise.resolve()
        .then(call)
        .then(undefined, (error) => error);
      expect(error).toBeInstanceOf(OptionsError);
      expect(error).toMatchObject({ field: `${name}.db`, expected: "a Drizzle database or transaction on Postgres" });
    }
  });
});
