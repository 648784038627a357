import { type Claimed, done, newClaimToken, retry } from "../../src/index.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { job, pgqueue, ticker } from "../queries/jobs.ts";

export const batch = 100;
export const spec = job({ queue: "q", hash: (p) => p?.hash });
const keepsNothing = { ...spec, retain: { completed: 0, failed: 0 } };
export const clock = ticker({ queue: "t" });

export interface Held {
  /** Claimed and not ended. */
  tasks: Claimed<any>[];
  token: Claimed["token"];
}

const outcomes = (tasks: Claimed<any>[]) =>
  tasks.map((task, i) => ({ task, result: i % 2 ? done(i) : retry("x"), payload: i }));
const completions = (tasks: Claimed<any>[]) => tasks.map((task) => ({ task, result: done() }));
const ofTwoClaims = (tasks: Claimed<any>[]) => {
  const token = newClaimToken();
  return tasks.map((task, i) => (i % 2 ? { ...task, token } : task));
};
const hashes = (from: number) => Array.from({ length: batch }, (_, i) => ({ payload: { hash: `h${from + i}` } }));

/** Each with the indexes it may read, and how many rows of them at the most. */
export const cases: [
  name: string,
  run: (db: TestDatabase["db"], held: Held) => PromiseLike<unknown>,
  indexes: string[],
  rows: number,
][] = [
  ["claim", (db) => pgqueue.claim(db, spec, { limit: batch }), ["claim", "pkey"], 2 * batch],
  ["claim of a thousand", (db) => pgqueue.claim(db, spec, { limit: 1_000 }), ["claim", "pkey"], 2_000],
  [
    "claim after a task",
    (db) =>
      pgqueue.claim(db, spec, { limit: batch, after: [{ priority: 0, exactRunAt: "2020-01-01 00:00:00+00", id: 7 }] }),
    ["claim", "pkey"],
    2 * batch,
  ],
  ["claim of 500", (db) => pgqueue.claim(db, spec, { limit: 500 }), ["claim", "pkey"], 1_000],
  ["claim of one", (db) => pgqueue.claim(db, spec, { limit: 1 }), ["claim", "pkey"], 2],
  ["claim of a ticker", (db) => pgqueue.claim(db, clock, { limit: 1 }), ["claim", "key", "pkey"], 2 * 10],
  ["finalize", (db, { tasks }) => pgqueue.finalize(db, spec, outcomes(tasks)), ["pkey"], 2 * batch],
  ["finalize of completions", (db, { tasks }) => pgqueue.finalize(db, spec, completions(tasks)), ["pkey"], 2 * batch],
  [
    "finalize of completions of two claims",
    (db, { tasks }) => pgqueue.finalize(db, spec, completions(ofTwoClaims(tasks))),
    ["pkey"],
    2 * batch,
  ],
  [
    "finalize that deletes",
    (db, { tasks }) => pgqueue.finalize(db, keepsNothing, completions(tasks)),
    ["pkey"],
    2 * batch,
  ],
  [
    "finalize that deletes some",
    (db, { tasks }) => pgqueue.finalize(db, keepsNothing, outcomes(tasks)),
    ["pkey"],
    3 * batch,
  ],
  ["finalize of one", (db, { tasks }) => pgqueue.finalize(db, spec, outcomes(tasks.slice(0, 1))), ["pkey"], 2],
  ["finalizeOrThrow", (db, { tasks }) => pgqueue.finalizeOrThrow(db, spec, outcomes(tasks)[0]!), ["pkey"], 2],
  ["release", (db, { tasks }) => pgqueue.release(db, spec, tasks), ["pkey"], 2 * batch],
  ["release of two claims", (db, { tasks }) => pgqueue.release(db, spec, ofTwoClaims(tasks)), ["pkey"], 2 * batch],
  ["releaseClaim", (db, { token }) => pgqueue.releaseClaim(db, spec, token), ["lease", "pkey"], 3 * batch],
  ["extendLease", (db, { tasks }) => pgqueue.extendLease(db, spec, tasks), ["pkey"], 2 * batch],
  ["markStarted", (db, { tasks }) => pgqueue.markStarted(db, spec, tasks), ["pkey"], 2 * batch],
  ["heldBy", (db, { tasks }) => pgqueue.heldBy(db, spec, tasks), ["pkey"], batch],
  ["reap", (db) => pgqueue.reap(db, spec, { limit: batch }), ["lease", "pkey"], 2 * batch],
  [
    "purge",
    (db) => pgqueue.purge(db, { queue: spec, status: "completed", olderThan: "1h", limit: batch }),
    ["finished", "pkey"],
    2 * batch,
  ],
  ["enqueue of a new hash", (db) => pgqueue.enqueue(db, spec, 1, { hash: "new" }), ["hash"], 0],
  ["enqueue of a held hash", (db) => pgqueue.enqueue(db, spec, 1, { hash: "h5" }), ["hash"], 1],
  ["enqueueMany of new hashes", (db) => pgqueue.enqueueMany(db, spec, hashes(1_000_000)), ["hash"], 0],
  // Their holders are found twice: not to insert, and to be told of.
  ["enqueueMany of held hashes", (db) => pgqueue.enqueueMany(db, spec, hashes(1)), ["hash"], 2 * batch],
  ["upsertTicker", (db) => pgqueue.upsertTicker(db, clock), ["key"], 1],
  ["enable", (db) => pgqueue.enable(db, 1), ["pkey", "hash"], 3],
  ["disable", (db) => pgqueue.disable(db, 1), ["pkey"], 1],
  ["requeue", (db) => pgqueue.requeue(db, 1), ["pkey", "hash"], 3],
  ["getTask", (db) => pgqueue.getTask(db, 1), ["pkey"], 1],
];
