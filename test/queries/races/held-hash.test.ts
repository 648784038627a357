import { afterAll, describe, expect, test } from "vitest";
import { done, fail } from "../../../src/index.ts";
import { createDatabase } from "../../postgres/database.ts";
import { claimOne, idsOf, job, pgqueue, rowOf } from "../jobs.ts";
import { begin, blocked, impatient } from "../transactions.ts";
import { enqueueNaively } from "./naive.ts";

// An enqueue meets an open transaction that has touched the holder of its hash.

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);
const { enqueue, enqueueMany } = pgqueue;

const hashed = (dedup: "retained" | "active") => job({ dedup, hash: () => "h" });
const started = <T>(run: PromiseLike<T>) => Promise.resolve(run);

describe("retained", () => {
  test("does not wait for a transaction that is ending the holder", async () => {
    const spec = hashed("retained");
    const { id } = await enqueue(db, spec, 1);
    const handler = await begin(db);
    await pgqueue.finalizeOrThrow(handler.tx, spec, { task: await claimOne(db, spec), result: done() });
    const holder = { id, status: "running", deduplicated: true };
    expect(await enqueue(db, spec, 2)).toEqual(holder);
    expect(await enqueueMany(db, spec, [{ payload: 2 }])).toEqual([holder]);
    await handler.commit();
  });

  test("written naively, it waits", async () => {
    const spec = hashed("retained");
    await enqueue(db, spec, 1);
    const handler = await begin(db);
    await pgqueue.finalizeOrThrow(handler.tx, spec, { task: await claimOne(db, spec), result: done() });
    const naive = started(enqueueNaively(client, spec.queue, ["h"]));
    await blocked(database);
    await handler.commit();
    expect(await naive).toHaveLength(0);
  });
});

describe("active", () => {
  const runs = {
    enqueue: (spec: ReturnType<typeof hashed>) => enqueue(db, spec, 2),
    enqueueMany: async (spec: ReturnType<typeof hashed>) => (await enqueueMany(db, spec, [{ payload: 2 }]))[0]!,
  };

  test.each([
    ["enqueue", "committed"],
    ["enqueue", "rolled back"],
    ["enqueueMany", "committed"],
    ["enqueueMany", "rolled back"],
  ] as const)("%s waits for the end of the holder, which is then %s", async (run, how) => {
    const spec = hashed("active");
    const { id } = await enqueue(db, spec, 1);
    const task = await claimOne(db, spec);
    const handler = await begin(db);
    await pgqueue.finalizeOrThrow(handler.tx, spec, { task, result: fail("x") });
    const second = started(runs[run](spec));
    await blocked(database);
    await (how === "committed" ? handler.commit() : handler.rollback());
    if (how === "committed") expect(await second).toMatchObject({ status: "pending", deduplicated: false });
    else expect(await second).toEqual({ id, status: "running", deduplicated: true });
  });

  test("a task that ended and an enqueue that follows make two rows, an enable of the first none", async () => {
    const spec = hashed("active");
    const first = await enqueue(db, spec, 1);
    await pgqueue.finalize(db, spec, { task: await claimOne(db, spec), result: fail("x") });
    const open = await begin(db);
    const second = await enqueue(open.tx, spec, 2);
    expect(second.deduplicated).toBe(false);
    await open.commit();
    expect(await pgqueue.enable(db, first.id)).toEqual([]);
    expect(await idsOf(db, spec)).toEqual([first.id, second.id]);
  });
});

describe.each(["retained", "active"] as const)("%s", (dedup) => {
  test.each(["committed", "rolled back"])("an uncommitted insert of the same hash, then %s", async (how) => {
    for (const run of [
      (spec: ReturnType<typeof hashed>) => enqueue(db, spec, 2),
      async (spec: ReturnType<typeof hashed>) => (await enqueueMany(db, spec, [{ payload: 2 }]))[0]!,
    ]) {
      const spec = hashed(dedup);
      const open = await begin(db);
      const first = await enqueue(open.tx, spec, 1);
      const second = started(run(spec));
      await blocked(database);
      await (how === "committed" ? open.commit() : open.rollback());
      const answer = await second;
      if (how === "committed") expect(answer).toEqual({ ...first, deduplicated: true });
      else expect(answer).toMatchObject({ status: "pending", deduplicated: false });
      expect(await idsOf(db, spec)).toEqual([answer.id]);
    }
  });

  test("a purge of the holder that is under way and commits", async () => {
    const spec = hashed(dedup);
    const { id } = await enqueue(db, spec, 1);
    await pgqueue.disable(db, id);
    const purge = await begin(db);
    await purge.tx.execute(`delete from pgqueue_tasks where id = ${id}`);
    const second = started(enqueue(db, spec, 2));
    if (dedup === "active") await blocked(database);
    await purge.commit();
    const answer = await second;
    // A holder that was there when the enqueue began is an answer too.
    if (answer.deduplicated) expect(answer).toEqual({ id, status: "disabled", deduplicated: true });
    else expect((await rowOf(db, answer.id)).payload).toBe(2);
    expect(await enqueue(db, spec, 3)).toMatchObject({ deduplicated: !answer.deduplicated });
  });

  test("many at once make one row", async () => {
    for (let round = 0; round < 10; round++) {
      const spec = hashed(dedup);
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          i % 2 ? enqueue(db, spec, i) : enqueueMany(db, spec, [{ payload: i }]).then(([answer]) => answer!),
        ),
      );
      expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
      expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
      expect(await idsOf(db, spec)).toHaveLength(1);
    }
  });
});
