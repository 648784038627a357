import assert from "node:assert/strict";
import { done, OptionsError, PayloadError } from "pgqueue";
import type { Case } from "../case.ts";
import { claimOne, job, pgqueue, rowOf, ticker } from "../shop.ts";

const { claim, enqueue, enqueueMany, finalize, listTasks, upsertTicker } = pgqueue;

const runAt = new Date("2031-02-03T04:05:06.789Z");

export const enqueueCases: readonly Case[] = [
  {
    name: "enqueue answers with the new task, and fills in the rest",
    async run({ db }) {
      const spec = job();
      const answer = await enqueue(db, spec, { orderId: 7 });
      assert.deepEqual(answer, { id: answer.id, status: "pending", deduplicated: false });
      assert.equal(typeof answer.id, "number");
      const row = await rowOf(db, answer.id);
      assert(row.runAt instanceof Date && row.createdAt instanceof Date);
      assert(Math.abs(row.createdAt.getTime() - Date.now()) < 60_000);
      assert.deepEqual(row, {
        id: answer.id,
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
        runAt: row.createdAt,
        claimToken: null,
        claimedBy: null,
        claimedAt: null,
        leaseUntil: null,
        startedAt: null,
        meta: null,
        createdAt: row.createdAt,
        finishedAt: null,
      });
    },
  },
  {
    name: "options of enqueue are stored",
    async run({ db }) {
      const spec = job({ hash: (payload) => `of ${payload}` });
      const meta = { trace: "00-ab", tags: ["x"] };
      const { id } = await enqueue(db, spec, 1, { runAt, priority: 9, maxRetries: 0, meta, hash: "own 'hash'" });
      const { priority, maxRetries, hash, hashHeld, ...row } = await rowOf(db, id);
      assert.deepEqual([priority, maxRetries, hash, hashHeld, row.meta], [9, 0, "own 'hash'", true, meta]);
      assert.deepEqual(row.runAt, runAt);

      const delayed = await rowOf(db, (await enqueue(db, spec, 2, { delay: "90s", hash: null })).id);
      assert.equal(delayed.runAt.getTime() - delayed.createdAt.getTime(), 90_000);
      assert.deepEqual([delayed.hash, delayed.hashHeld], [null, false]);
      assert.equal((await rowOf(db, (await enqueue(db, spec, 3)).id)).hash, "of 3");
    },
  },
  {
    name: "enqueueMany answers in order, and stores each item's options",
    async run({ db }) {
      const spec = job();
      const answers = await enqueueMany(db, spec, [
        { payload: "a" },
        { payload: "b", runAt, priority: 3, maxRetries: 5, meta: { b: true } },
        { payload: "c", delay: "2m", hash: "hash of c" },
        { payload: "d", hash: "hash of c" },
      ]);
      assert.deepEqual(
        answers.map(({ status, deduplicated }) => [status, deduplicated]),
        [
          ["pending", false],
          ["pending", false],
          ["pending", false],
          ["pending", true],
        ],
      );
      assert.equal(answers[3]!.id, answers[2]!.id);
      assert(answers.every(({ id }) => typeof id === "number"));
      const [a, b, c] = await Promise.all(answers.slice(0, 3).map(({ id }) => rowOf(db, id)));
      assert.deepEqual([a!.payload, a!.priority, a!.maxRetries, a!.meta, a!.hash], ["a", 0, null, null, null]);
      assert.deepEqual(a!.runAt, a!.createdAt);
      assert.deepEqual([b!.payload, b!.priority, b!.maxRetries, b!.meta], ["b", 3, 5, { b: true }]);
      assert.deepEqual(b!.runAt, runAt);
      assert.deepEqual([c!.payload, c!.hash, c!.hashHeld], ["c", "hash of c", true]);
      assert.equal(c!.runAt.getTime() - c!.createdAt.getTime(), 120_000);
      assert.deepEqual(await enqueueMany(db, spec, []), []);
    },
  },
  {
    name: "enqueueMany inserts more than one statement holds",
    async run({ db }) {
      const spec = job();
      const items = Array.from({ length: 5_003 }, (_, payload) => ({ payload }));
      const answers = await enqueueMany(db, spec, items);
      assert.equal(new Set(answers.map(({ id }) => id)).size, 5_003);
      const [newest] = await listTasks(db, { queue: spec, limit: 1 });
      assert.deepEqual([newest?.id, newest?.payload], [answers.at(-1)!.id, 5_002]);
    },
  },
  {
    name: "a retained hash runs once, by enqueue and by enqueueMany",
    async run({ db }) {
      const spec = job({ hash: (payload) => payload.key });
      const first = await enqueue(db, spec, { key: "k" });
      assert.deepEqual(await enqueue(db, spec, { key: "k" }), { ...first, deduplicated: true });
      await finalize(db, spec, { task: await claimOne(db, spec), result: done() });
      const ended = { id: first.id, status: "completed", deduplicated: true };
      assert.deepEqual(await enqueue(db, spec, { key: "k" }), ended);
      const [again, other] = await enqueueMany(db, spec, [{ payload: { key: "k" } }, { payload: { key: "l" } }]);
      assert.deepEqual(again, ended);
      assert.equal(other!.deduplicated, false);
      assert.equal((await listTasks(db, { queue: spec })).length, 2);
    },
  },
  {
    name: "an active hash is free again when its task has ended, for enqueue and for enqueueMany",
    async run({ db }) {
      const spec = job({ hash: (payload) => payload.key, dedup: "active" });
      const first = await enqueue(db, spec, { key: "k" });
      const task = await claimOne(db, spec);
      const held = { id: first.id, status: "running", deduplicated: true };
      assert.deepEqual(await enqueue(db, spec, { key: "k" }), held);
      assert.deepEqual(await enqueueMany(db, spec, [{ payload: { key: "k" } }]), [held]);
      await finalize(db, spec, { task, result: done() });
      const second = await enqueue(db, spec, { key: "k" });
      assert(second.id > first.id && !second.deduplicated);
      await finalize(db, spec, { task: await claimOne(db, spec), result: done() });
      const [third] = await enqueueMany(db, spec, [{ payload: { key: "k" } }]);
      assert(third!.id > second.id && !third!.deduplicated);
    },
  },
  {
    name: "upsertTicker creates one row, and leaves an existing one as it is",
    async run({ db }) {
      const spec = ticker({ initialPayload: { cursor: '{"a":1}' } });
      const first = await upsertTicker(db, spec);
      assert.deepEqual(first, { id: first.id, status: "pending", deduplicated: false });
      const changed = ticker({ queue: spec.queue, initialPayload: { cursor: 2 } });
      assert.deepEqual(await upsertTicker(db, changed), { ...first, deduplicated: true });
      const row = await rowOf(db, first.id);
      assert.deepEqual([row.kind, row.key, row.payload], ["ticker", "main", { cursor: '{"a":1}' }]);
      const other = await upsertTicker(db, ticker({ queue: spec.queue, key: "other" }));
      assert.equal(other.deduplicated, false);
    },
  },
  {
    name: "bad input is refused before any SQL, and leaves a transaction usable",
    async run({ db }) {
      const spec = job();
      await db.transaction(async (tx) => {
        await assert.rejects(enqueue(tx, spec, { at: new Date() }), PayloadError);
        await assert.rejects(enqueue(tx, spec, 1, { priority: 10 }), OptionsError);
        await assert.rejects(enqueueMany(tx, spec, [{ payload: 1 }, { payload: Number.NaN }]), PayloadError);
        assert.throws(() => claim(tx, spec, { limit: 0 }), OptionsError);
        await enqueue(tx, spec, "good");
      });
      assert.equal((await claimOne(db, spec)).payload, "good");
    },
  },
];
