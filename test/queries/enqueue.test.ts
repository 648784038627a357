import { sql } from "drizzle-orm";
import { integer, uniqueIndex } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import * as v from "valibot";
import { afterAll, describe, expect, test } from "vitest";
import {
  ConflictError,
  createPgqueue,
  defineJob,
  OptionsError,
  PayloadError,
  pgqueueTables,
  type TaskStatus,
} from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimOne, idsOf, job, pgqueue, rowOf, tasks, ticker } from "./jobs.ts";
import { listening, recorded } from "./recorder.ts";
import { begin, impatient, sqlState } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db } = database;
afterAll(database.end);
const { enqueue } = pgqueue;

const hashed = (options = {}) => job({ hash: (p) => p.hash, ...options });
const readPayload = async (id: number) => (await pgqueue.getTask(db, id))[0]?.payload;

describe("the row", () => {
  test("has what was given, and defaults for the rest", async () => {
    const spec = job();
    const { id, ...answer } = await enqueue(db, spec, { orderId: 7 });

    expect(answer).toEqual({ status: "pending", deduplicated: false });
    expect(await rowOf(db, id)).toEqual({
      id,
      queue: spec.queue,
      kind: "job",
      key: null,
      hash: null,
      hashHeld: false,
      status: "pending",
      priority: 0,
      payload: { orderId: 7 },
      output: null,
      errors: null,
      attempt: 0,
      claims: 0,
      maxRetries: null,
      runAt: expect.any(Date),
      claimToken: null,
      claimedBy: null,
      claimedAt: null,
      leaseUntil: null,
      startedAt: null,
      meta: null,
      createdAt: expect.any(Date),
      finishedAt: null,
    });
  });

  test("has the options", async () => {
    const runAt = new Date("2031-05-06T07:08:09.123Z");
    const { id } = await enqueue(
      db,
      job(),
      {},
      { runAt, priority: 9, maxRetries: 0, hash: "given", meta: { trace: "a", tags: ["b"] } },
    );
    expect(await rowOf(db, id)).toMatchObject({
      runAt,
      priority: 9,
      maxRetries: 0,
      hash: "given",
      hashHeld: true,
      meta: { trace: "a", tags: ["b"] },
    });
  });

  test.each([{ maxRetries: -1 }, {}])("leaves the number of retries to the spec with %o", async (options) => {
    expect((await rowOf(db, (await enqueue(db, job(), {}, options)).id)).maxRetries).toBeNull();
  });

  test("takes a null hash as no dedup although the spec has one", async () => {
    const spec = hashed();
    const ids = [await enqueue(db, spec, { hash: "a" }, { hash: null }), await enqueue(db, spec, { hash: null })];
    for (const { id } of ids) expect(await rowOf(db, id)).toMatchObject({ hash: null, hashHeld: false });
  });

  test("has the schema's input, and a hash of its output", async () => {
    const spec = defineJob({
      queue: job().queue,
      payload: v.object({ at: v.pipe(v.string(), v.transform(Number)) }),
      hash: ({ at }) => `at ${at + 1}`,
    });
    const { id } = await enqueue(db, spec, { at: "41" });
    expect(await rowOf(db, id)).toMatchObject({ payload: { at: "41" }, hash: "at 42" });
  });

  test("is due a delay after the statement, not after the start of its transaction", async () => {
    const { tx, rollback } = await begin(db);
    await tx.execute(sql`select pg_sleep(0.2)`);
    const { id: delayed } = await enqueue(tx, job(), {}, { delay: "2s" });
    const { id: immediate } = await enqueue(tx, job(), {});
    const sinceStart = async (id: number) => {
      const [row] = await tx
        .select({
          runAt: sql<number>`extract(epoch from ${tasks.runAt} - now())::float8`,
          createdAt: sql<number>`extract(epoch from ${tasks.createdAt} - now())::float8`,
        })
        .from(tasks)
        .where(sql`${tasks.id} = ${id}`);
      return row!;
    };
    expect((await sinceStart(delayed)).runAt).toBeGreaterThanOrEqual(2.2);
    expect((await sinceStart(delayed)).runAt).toBeLessThan(30);
    expect((await sinceStart(immediate)).runAt).toBeGreaterThanOrEqual(0.2);
    expect((await sinceStart(immediate)).createdAt).toBeGreaterThanOrEqual(0.2);
    await rollback();
  });

  test("takes a delay of a hundred years", async () => {
    const { id } = await enqueue(db, job(), {}, { delay: 36_525 * 86_400_000 });
    expect((await rowOf(db, id)).runAt.getUTCFullYear()).toBeGreaterThan(2120);
  });
});

describe("payloads", () => {
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: [deep(levels - 1)] });
  const strange = [
    "$1",
    "?",
    ":x",
    "':x'",
    "%s",
    "it's",
    '"quoted"',
    "\\",
    "\\u0041",
    "\\n\n\r\t\b\f",
    "$\u007bsql}",
    "'; drop table pgqueue_tasks; --",
    "\u2028\u2029\ufeff\u00a0",
    "𝒳 🎉 é é",
    "\u0001\u001f\u007f",
    "[]",
  ];

  test.each([
    true,
    false,
    0,
    -1.5,
    1e-7,
    2 ** 53,
    Number.MAX_VALUE,
    5e-324,
    "",
    "null",
    '{"a":1}',
    null,
    [],
    {},
    [null],
    { "": null, a: { b: [] } },
    ...strange,
  ])("%j comes back exactly", async (payload) => {
    const { id } = await enqueue(db, job(), payload);
    expect(await readPayload(id)).toStrictEqual(payload);
  });

  test("a deep one, and one of every strange text as key and value, come back exactly", async () => {
    const payload = { deep: deep(400), texts: Object.fromEntries(strange.map((text) => [text, text])) };
    const spec = job();
    await enqueue(db, spec, payload);
    expect((await claimOne(db, spec)).payload).toStrictEqual(payload);
  });

  test("lose undefined properties and the sign of zero", async () => {
    const { id } = await enqueue(db, job(), { a: undefined, b: -0 });
    expect(await readPayload(id)).toStrictEqual({ b: 0 });
  });

  test.each(strange)("%j is stored exactly as queue, hash and meta", async (text) => {
    const spec = defineJob({ queue: text, payload: v.null(), hash: () => text });
    const { id } = await enqueue(db, spec, null, { meta: { [text]: text } });
    expect(await rowOf(db, id)).toMatchObject({ queue: text, hash: text, meta: { [text]: text } });
    expect(await enqueue(db, spec, null)).toEqual({ id, status: "pending", deduplicated: true });
  });
});

describe("bad input", () => {
  class Order {
    id = 1;
  }
  const circular: { self?: unknown } = {};
  circular.self = circular;

  test.each<[name: string, payload: unknown, path: string]>([
    ["NUL", { a: ["x\0"] }, "payload.a[0]"],
    ["NUL in a key", { "a\0": 1 }, 'payload["a\\u0000"]'],
    ["a lone surrogate", { a: "\ud800" }, "payload.a"],
    ["a lone surrogate in a key", { "\udfff": 1 }, "payload"],
    ["a bigint", { n: 1n }, "payload.n"],
    ["NaN", [Number.NaN], "payload[0]"],
    ["infinity", -Infinity, "payload"],
    ["a Date", { at: new Date() }, "payload.at"],
    ["a Map", { map: new Map() }, "payload.map"],
    ["a Set", { set: new Set() }, "payload.set"],
    ["an instance", { order: new Order() }, "payload.order"],
    ["a function", { f: () => {} }, "payload.f"],
    ["a symbol", { s: Symbol("s") }, "payload.s"],
    ["an undefined item", { list: [1, undefined] }, "payload.list[1]"],
    ["undefined", undefined, "payload"],
    ["a circle", circular, "payload.self"],
  ])("a payload with %s is refused with its path, before any SQL", async (_, payload, path) => {
    const { db, statements } = recorded(database);
    const refused = enqueue(db, job(), payload);
    await expect(refused).rejects.toThrow(PayloadError);
    await expect(refused).rejects.toMatchObject({ path: expect.stringContaining(path) });
    expect(statements).toEqual([]);
  });

  test("a payload that the schema refuses is refused with all its issues", async () => {
    const spec = defineJob({ queue: "mail", payload: v.object({ to: v.string(), n: v.number() }) });
    const { db, statements } = recorded(database);
    await expect(enqueue(db, spec, { to: 1, n: "2" } as never)).rejects.toMatchObject({
      path: "payload.to",
      issues: [expect.stringMatching(/^payload\.to: /), expect.stringMatching(/^payload\.n: /)],
    });
    expect(statements).toEqual([]);
  });

  test.each<[options: object, field: string]>([
    [{ delay: "5" }, "enqueue.delay"],
    [{ delay: -1 }, "enqueue.delay"],
    [{ delay: "5s", runAt: new Date() }, "enqueue.delay"],
    [{ runAt: new Date(Number.NaN) }, "enqueue.runAt"],
    [{ runAt: "2030-01-01" }, "enqueue.runAt"],
    [{ priority: 10 }, "enqueue.priority"],
    [{ priority: 0.5 }, "enqueue.priority"],
    [{ maxRetries: 40_000 }, "enqueue.maxRetries"],
    [{ hash: "" }, "enqueue.hash"],
    [{ hash: "x".repeat(513) }, "enqueue.hash"],
    [{ hash: "a\0" }, "enqueue.hash"],
    [{ hash: "\ud800" }, "enqueue.hash"],
    [{ meta: [] }, "enqueue.meta"],
    [{ columns: { nope: 1 } }, "enqueue.columns.nope"],
    [{ queue: "other" }, "enqueue.queue"],
  ])("%o is refused before any SQL, naming %s", async (options, field) => {
    const { db, statements } = recorded(database);
    const refused = enqueue(db, job(), {}, options);
    await expect(refused).rejects.toThrow(OptionsError);
    await expect(refused).rejects.toMatchObject({ field });
    expect(statements).toEqual([]);
  });

  test("a hash of 512 bytes is taken", async () => {
    const hash = `${"é".repeat(255)}ab`;
    expect((await rowOf(db, (await enqueue(db, job(), {}, { hash })).id)).hash).toBe(hash);
  });

  test("a ticker's spec is refused", async () => {
    await expect(enqueue(db, ticker() as never, {})).rejects.toMatchObject({ field: "enqueue.spec" });
  });

  test("what is no Postgres database is refused", async () => {
    for (const handle of [undefined, {}, { select() {} }, database.client]) {
      await expect(enqueue(handle as never, job(), {})).rejects.toMatchObject({ field: "enqueue.db" });
    }
  });

  test("leaves the caller's transaction as it was: it goes on and commits", async () => {
    const spec = job();
    await db.transaction(async (tx) => {
      await expect(enqueue(tx, spec, { n: 1n })).rejects.toThrow(PayloadError);
      await expect(enqueue(tx, spec, {}, { priority: 77 })).rejects.toThrow(OptionsError);
      await enqueue(tx, spec, "good");
    });
    expect((await claimOne(db, spec)).payload).toBe("good");
  });
});

describe("in a transaction of the caller's", () => {
  test("that rolls back there is no task, in one that commits exactly one", async () => {
    const spec = job();
    const lost = await begin(db);
    await enqueue(lost.tx, spec, "lost");
    await lost.rollback();
    expect(await idsOf(db, spec)).toEqual([]);

    const kept = await begin(db);
    const { id } = await enqueue(kept.tx, spec, "kept");
    expect(await idsOf(db, spec)).toEqual([]);
    await kept.commit();
    expect(await idsOf(db, spec)).toEqual([id]);
  });

  test("a savepoint that rolls back takes its task with it alone", async () => {
    const spec = job();
    await db.transaction(async (tx) => {
      await enqueue(tx, spec, "kept");
      await tx
        .transaction(async (inner) => {
          await enqueue(inner, spec, "lost");
          throw new Error("undo");
        })
        .catch(() => {});
    });
    expect((await claimOne(db, spec)).payload).toBe("kept");
  });

  test.each(["repeatable read", "serializable"] as const)(
    "that is %s it inserts and finds its hash",
    async (isolationLevel) => {
      for (const dedup of ["retained", "active"] as const) {
        const spec = hashed({ dedup });
        const holder = await enqueue(db, spec, { hash: "old" });
        const { tx, commit } = await begin(db, { isolationLevel });
        const fresh = await enqueue(tx, spec, { hash: "new" });
        expect(fresh.deduplicated).toBe(false);
        expect(await enqueue(tx, spec, { hash: "new" })).toEqual({ ...fresh, deduplicated: true });
        expect(await enqueue(tx, spec, { hash: "old" })).toEqual({ ...holder, deduplicated: true });
        await commit();
        expect(await idsOf(db, spec)).toEqual([holder.id, fresh.id]);
      }
    },
  );

  test.each(["repeatable read", "serializable"] as const)(
    "that is %s a holder it cannot see is Postgres' own retryable error, never a second task",
    async (isolationLevel) => {
      for (const dedup of ["retained", "active"] as const) {
        const spec = hashed({ dedup });
        const { tx, rollback } = await begin(db, { isolationLevel });
        await tx.execute(sql`select count(*) from ${tasks}`);
        await enqueue(db, spec, { hash: "a" });
        expect(await sqlState(enqueue(tx, spec, { hash: "a" }))).toBe("40001");
        await rollback();
        expect(await idsOf(db, spec)).toHaveLength(1);
      }
    },
  );
});

describe("dedup", () => {
  const end = (id: number, status: TaskStatus) =>
    database.client`update pgqueue_tasks set status = ${status}, claim_token = null where id = ${id}`;

  test("answers the holder's id and status while it is pending and while it runs", async () => {
    for (const dedup of ["retained", "active"] as const) {
      const spec = hashed({ dedup });
      const { id } = await enqueue(db, spec, { hash: "a", n: 1 });
      expect(await enqueue(db, spec, { hash: "a", n: 2 })).toEqual({ id, status: "pending", deduplicated: true });
      const task = await claimOne(db, spec);
      const again = await Promise.all(Array.from({ length: 10 }, () => enqueue(db, spec, { hash: "a", n: 3 })));
      expect(again).toEqual(Array(10).fill({ id, status: "running", deduplicated: true }));
      expect(task.payload).toEqual({ hash: "a", n: 1 });
      expect(await idsOf(db, spec)).toEqual([id]);
    }
  });

  test("of the same hash on two queues makes two tasks", async () => {
    const [one, two] = [hashed(), hashed()];
    const answers = [await enqueue(db, one, { hash: "a" }), await enqueue(db, two, { hash: "a" })];
    expect(answers.map(({ deduplicated }) => deduplicated)).toEqual([false, false]);
    expect(answers[0]!.id).not.toBe(answers[1]!.id);
  });

  test("burns no id where the hash is held", async () => {
    const spec = hashed();
    const { id } = await enqueue(db, spec, { hash: "a" });
    for (let i = 0; i < 10; i++) await enqueue(db, spec, { hash: "a" });
    expect((await enqueue(db, spec, { hash: "b" })).id).toBe(id + 1);
  });

  test.each(["completed", "failed", "disabled"] as const)(
    "retained: a %s task still holds its hash",
    async (status) => {
      const spec = hashed();
      const { id } = await enqueue(db, spec, { hash: "a" });
      await end(id, status);
      expect(await enqueue(db, spec, { hash: "a" })).toEqual({ id, status, deduplicated: true });
    },
  );

  test("active: a holder that ended gives way to a new row", async () => {
    const spec = hashed({ dedup: "active", maxRetries: 0 });
    const ids: number[] = [];
    for (const result of [{ type: "done" }, { type: "fail", error: "no" }, { type: "retry", error: "no" }] as const) {
      const { id, deduplicated } = await enqueue(db, spec, { hash: "a" });
      expect(deduplicated).toBe(false);
      ids.push(id);
      await pgqueue.finalize(db, spec, { task: await claimOne(db, spec), result });
    }
    expect(await idsOf(db, spec)).toEqual(ids);
    for (const id of ids) expect(await rowOf(db, id)).toMatchObject({ hash: "a", hashHeld: false });
  });

  test("active: a disabled task still holds its hash, also when it was running", async () => {
    const spec = hashed({ dedup: "active" });
    const { id } = await enqueue(db, spec, { hash: "a" });
    await claimOne(db, spec);
    await pgqueue.disable(db, id);
    expect(await enqueue(db, spec, { hash: "a" })).toEqual({ id, status: "disabled", deduplicated: true });
  });
});

describe("the user's own schema", () => {
  const { tasks, queues } = pgqueueTables({
    columns: { orderId: integer("order_id"), tenant: integer("tenant").notNull().default(1) },
    extraConfig: (t) => [uniqueIndex("tasks_order").on(t.orderId)],
  });
  const own = createPgqueue({ tasks, queues });

  const withOwnSchema = async () => {
    const other = await createDatabase({ migrated: true, client: impatient });
    await other.client.unsafe(`
      alter table pgqueue_tasks add column order_id int, add column tenant int not null default 1;
      create unique index tasks_order on pgqueue_tasks (order_id)`);
    return other;
  };

  test("a violation of a unique index of the user's is the user's error, not a dedup", async () => {
    const other = await withOwnSchema();
    for (const dedup of ["retained", "active"] as const) {
      const spec = hashed({ dedup });
      const orderId = dedup === "active" ? 1 : 2;
      await own.enqueue(other.db, spec, { hash: "a" }, { columns: { orderId } });
      const violation = own.enqueue(other.db, spec, { hash: "b" }, { columns: { orderId } });
      await expect(violation).rejects.toMatchObject({ cause: { code: "23505", constraint_name: "tasks_order" } });
      const many = own.enqueueMany(other.db, spec, [{ payload: { hash: "b" }, columns: { orderId } }]);
      await expect(many).rejects.toMatchObject({ cause: { code: "23505", constraint_name: "tasks_order" } });
      expect(await idsOf(other.db, spec)).toHaveLength(1);
    }
    await other.end();
  });

  test("a holder behind row-level security is a ConflictError, after a bounded number of tries", async () => {
    const other = await withOwnSchema();
    const role = `tenant_${other.name}`;
    await other.client.unsafe(`
      create role ${role}; grant all on pgqueue_tasks, pgqueue_queues to ${role};
      alter table pgqueue_tasks enable row level security;
      create policy own on pgqueue_tasks to ${role}
        using (tenant = current_setting('app.tenant')::int) with check (tenant = current_setting('app.tenant')::int)`);
    for (const dedup of ["retained", "active"] as const) {
      const spec = hashed({ dedup });
      const enqueueMany = (tx: typeof other.db) =>
        own.enqueueMany(tx, spec, [{ payload: { hash: "a" }, columns: { tenant: 2 } }]);
      await own.enqueue(other.db, spec, { hash: "a" });
      const { tx, rollback } = await begin(other.db);
      await tx.execute(sql.raw(`set local role ${role}; set local app.tenant = '2'`));
      await expect(own.enqueue(tx, spec, { hash: "a" }, { columns: { tenant: 2 } })).rejects.toThrow(ConflictError);
      await expect(enqueueMany(tx as never)).rejects.toThrow(ConflictError);
      expect(await own.enqueue(tx, spec, { hash: "b" }, { columns: { tenant: 2 } })).toMatchObject({
        deduplicated: false,
      });
      expect(await sqlState(own.enqueue(tx, spec, { hash: "c" }, { columns: { tenant: 1 } }))).toBe("42501");
      await rollback();
    }
    const spec = hashed();
    await own.enqueue(other.db, spec, { hash: "a" });
    const hidden = [{ hash: "new" }, { hash: "a" }].map((payload) => ({ payload, columns: { tenant: 2 } }));
    const before = await other.client`select count(*) from pgqueue_tasks`;
    await other.client.unsafe(`alter role ${role} set app.tenant = '2'; alter role ${role} login password 'x'`);
    const url = new URL(other.url);
    url.username = role;
    url.password = "x";
    const asTenant = postgres(url.href, { max: 1, onnotice: () => {} });
    const many = own.enqueueMany(drizzle({ client: asTenant }), spec, hidden);
    await expect(many).rejects.toThrow(ConflictError);
    expect(await other.client`select count(*) from pgqueue_tasks`).toEqual(before);
    await asTenant.end();
    await other.client.unsafe(`drop owned by ${role}; drop role ${role}`);
    await other.end();
  });
});

describe("notifications", () => {
  test("one for a due task when it is committed, none for a duplicate or a future one", async () => {
    const notified = await listening(database);
    const spec = hashed();
    const { tx, commit } = await begin(db);
    await enqueue(tx, spec, { hash: "a" });
    expect(await notified.all()).toEqual([]);
    await commit();
    expect(await notified.all()).toEqual([spec.queue]);

    await enqueue(db, spec, { hash: "a" });
    await enqueue(db, spec, { hash: "b" }, { delay: "1h" });
    await enqueue(db, spec, { hash: "c" }, { runAt: new Date(Date.now() + 86_400_000) });
    expect(await notified.all()).toEqual([]);
    await enqueue(db, spec, { hash: "d" }, { runAt: new Date(0) });
    await enqueue(db, job({ queue: "e" }), {});
    expect(await notified.all()).toEqual([spec.queue, "e"]);
    await notified.unlisten();
  });

  test("none at all where they are switched off", async () => {
    const silent = createPgqueue({ tasks, queues: pgqueueTables().queues, notify: false });
    const notified = await listening(database);
    const spec = hashed({ dedup: "active" });
    const { id } = await silent.enqueue(db, spec, { hash: "a" });
    await silent.enqueueMany(db, job(), [{ payload: 1 }]);
    await silent.release(db, spec, await claimOne(db, spec));
    await silent.disable(db, id);
    await silent.enable(db, id);
    await silent.requeue(db, id);
    await silent.pauseQueue(db, spec);
    await silent.resumeQueue(db, spec);
    expect(await notified.all()).toEqual([]);
    await notified.unlisten();
  });
});
