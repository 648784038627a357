import { text } from "drizzle-orm/pg-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createPgqueue, OptionsError, pgqueueTables } from "../../src/index.ts";
import {
  createTestDatabase,
  enqueued,
  expectEnqueued,
  refuteEnqueued,
  rollBack,
  type TestDatabase,
} from "../../src/testing/index.ts";
import { daily, enqueue, mail, pgqueue, schema, tasks } from "./shop.ts";

let database: TestDatabase<typeof schema>;
beforeAll(async () => {
  database = await createTestDatabase({ schema });
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.db.delete(tasks);
});
const messageOf = (run: Promise<unknown>) =>
  run.then(
    () => "nothing was thrown",
    (error) => error.message as string,
  );

describe("enqueued", () => {
  test("lists the tasks of a spec in the order they came, whatever their status", async () => {
    const { db } = database;
    const first = await enqueue(db, mail, { to: "a" }, { priority: 9 });
    const second = await enqueue(db, mail, { to: "b", n: 2 });
    await enqueue(db, { ...mail, queue: "other" }, { to: "c" });
    await pgqueue.upsertTicker(db, daily);
    await pgqueue.disable(db, second.id);
    const listed = await enqueued(db, mail);
    expect(listed.map(({ id, status, payload }) => [id, status, payload.to])).toEqual([
      [first.id, "pending", "a"],
      [second.id, "disabled", "b"],
    ]);
    expect(await enqueued(db, daily)).toMatchObject([{ kind: "ticker", key: "report", payload: { page: 1 } }]);
  });

  test("sees what its transaction has done, and nothing else", async () => {
    await rollBack(database.db, async (tx) => {
      await enqueue(tx, mail, { to: "a" });
      expect(await enqueued(tx, mail)).toHaveLength(1);
    });
    expect(await enqueued(database.db, mail)).toEqual([]);
  });
});

describe("expectEnqueued", () => {
  test("finds a task by any part of it", async () => {
    const { db } = database;
    const runAt = new Date("2030-01-01T00:00:00Z");
    await enqueue(db, mail, { to: "ada@example.com", n: 1 });
    const { id } = await enqueue(
      db,
      mail,
      { to: "bob@example.com", n: 2 },
      { runAt, priority: 5, meta: { tags: ["x"] }, hash: "h" },
    );
    for (const pattern of [
      { payload: { n: 2 } },
      { payload: { to: "bob@example.com", n: 2 }, priority: 5 },
      { runAt },
      { meta: { tags: ["x"] } },
      { hash: "h", status: "pending" as const },
      { payload: { to: expect.stringContaining("bob") as string } },
    ]) {
      expect(await expectEnqueued(db, mail, pattern)).toMatchObject({ id });
    }
    expect((await expectEnqueued(db, mail)).payload.n).toBe(1);
  });

  test("says of the nearest task in what it differs", async () => {
    const { db } = database;
    await enqueue(db, mail, { to: "ada@example.com", n: 1 });
    const { id } = await enqueue(db, mail, { to: "bob@example.com", n: 2 }, { priority: 5 });
    const message = await messageOf(
      expectEnqueued(db, mail, { payload: { to: "bob@example.com", n: 3 }, priority: 5 }),
    );
    expect(message.split("\n")).toEqual([
      'no task of queue "mail" is as expected; there are 2',
      `  task ${id} (pending)`,
      "    payload.n: expected 3, is 2",
      expect.stringMatching(/^ {2}task \d+ \(pending\)$/),
      "    payload.to: expected 'bob@example.com', is 'ada@example.com'",
      "    payload.n: expected 3, is 1",
      "    priority: expected 5, is 0",
    ]);
  });

  test("says that there is none, and what was looked for", async () => {
    expect(await messageOf(expectEnqueued(database.db, mail, { payload: { n: 3 } }))).toBe(
      'no task of queue "mail" is as expected; there is none\n  expected { payload: { n: 3 } }',
    );
    expect(await messageOf(expectEnqueued(database.db, daily))).toMatch(/^no task of ticker "report" of queue "daily"/);
  });

  test("is an assertion's error with a difference that a test runner shows", async () => {
    await enqueue(database.db, mail, { to: "a", n: 1 });
    const error = await expectEnqueued(database.db, mail, { payload: { n: 2 } }).catch((error) => error);
    expect(error).toMatchObject({
      name: "AssertionError",
      code: "ERR_ASSERTION",
      actual: { "payload.n": 1 },
      expected: { "payload.n": 2 },
      operator: "expectEnqueued",
    });
  });

  test("shows five of many", async () => {
    await pgqueue.enqueueMany(
      database.db,
      mail,
      Array.from({ length: 8 }, (_, n) => ({ payload: { to: "a", n } })),
    );
    const message = await messageOf(expectEnqueued(database.db, mail, { payload: { n: 99 } }));
    expect(message.match(/^ {2}task/gm)).toHaveLength(5);
    expect(message).toMatch(/and 3 more$/);
  });

  test("takes lists whole, and patterns of text", async () => {
    const { db } = database;
    await enqueue(db, mail, { to: "ada@example.com" }, { meta: { tags: ["x", "y"] } });
    await expectEnqueued(db, mail, { meta: { tags: ["x", "y"] } });
    await expect(expectEnqueued(db, mail, { meta: { tags: ["x"] } })).rejects.toThrow(/meta\.tags/);
    await expectEnqueued(db, mail, { payload: { to: /^ada@/g } });
    await expect(expectEnqueued(db, mail, { payload: { to: /^bob@/ } })).rejects.toThrow(/payload\.to/);
  });
});

describe("refuteEnqueued", () => {
  test("is content where there is none like it", async () => {
    const { db } = database;
    await refuteEnqueued(db, mail);
    await enqueue(db, mail, { to: "a", n: 1 });
    await refuteEnqueued(db, mail, { payload: { n: 2 } });
    await refuteEnqueued(db, daily);
  });

  test("shows what there is", async () => {
    const { db } = database;
    const { id } = await enqueue(db, mail, { to: "a", n: 1 });
    expect(await messageOf(refuteEnqueued(db, mail))).toBe(
      `expected no task of queue "mail" like {}; there are 1\n  task ${id} (pending) { n: 1, to: 'a' }`,
    );
    await expect(refuteEnqueued(db, mail, { payload: { n: 1 } })).rejects.toMatchObject({ operator: "refuteEnqueued" });
  });
});

test.each<[string, unknown]>([
  ["null", null],
  ["a number", 5],
  ["a list", []],
  ["a misspelt member", { payloads: { n: 1 } }],
])("a pattern that is %s is refused, not found in none", async (_, pattern) => {
  await enqueue(database.db, mail, { to: "a" });
  await expect(refuteEnqueued(database.db, mail, pattern as {})).rejects.toThrow(OptionsError);
  await expect(expectEnqueued(database.db, mail, pattern as {})).rejects.toThrow(OptionsError);
});

test("a pattern counts by its members, whatever its class, and by none that is undefined", async () => {
  await enqueue(database.db, mail, { to: "a", n: 7 });
  class Payload {
    n = 7;
  }
  for (const payload of [new Payload(), Object.assign(Object.create(null), { n: 7 })]) {
    await expectEnqueued(database.db, mail, { payload: payload as {}, hash: undefined });
    await expect(refuteEnqueued(database.db, mail, { payload: payload as {} })).rejects.toThrow(/there are 1/);
  }
  const pattern = { payload: { to: /a/g } };
  await expectEnqueued(database.db, mail, pattern);
  await expectEnqueued(database.db, mail, pattern);
});

test("a matcher that does not say how to match is refused, as those of bun:test are", async () => {
  const { db } = database;
  await enqueue(db, mail, { to: "a" });
  class ObjectContaining {}
  const payload = new ObjectContaining() as never;
  await expect(expectEnqueued(db, mail, { payload })).rejects.toMatchObject({ name: "OptionsError", field: "payload" });
});

test("where a program has several sets of tables, the one to look into is named", async () => {
  const other = pgqueueTables({ prefix: "other_", columns: { tenant: text("tenant").notNull() } });
  const second = createPgqueue(other);
  const { db, close } = await createTestDatabase({
    schema: { ...schema, otherTasks: other.tasks, otherQueues: other.queues },
  });
  await second.enqueue(db, mail, { to: "a" }, { columns: { tenant: "acme" } });
  await expect(enqueued(db, mail)).rejects.toThrow(/enqueued\.pgqueue: expected one of the several/);
  await expect(enqueued(db, mail, { pgqeue: second } as never)).rejects.toThrow(/enqueued\.pgqeue/);
  // This one has the tables of one set alone.
  expect(await enqueued(database.db, mail)).toEqual([]);
  await expectEnqueued(db, mail, { columns: { tenant: "acme" } }, { pgqueue: second });
  await refuteEnqueued(db, mail, {}, { pgqueue });
  await close();
});
