import type { SQL } from "drizzle-orm";
import * as v from "valibot";
import type { Binding } from "../queries/binding.ts";
import { claim } from "../queries/claim.ts";
import { type Claimed, newClaimToken } from "../queries/claimed.ts";
import { enqueue } from "../queries/enqueue.ts";
import { enqueueMany } from "../queries/enqueue-many.ts";
import { extendLease } from "../queries/extend-lease.ts";
import { finalize } from "../queries/finalize.ts";
import { getTask } from "../queries/get-task.ts";
import { heldBy } from "../queries/held-by.ts";
import { markStarted } from "../queries/mark-started.ts";
import { purge } from "../queries/purge.ts";
import { reap } from "../queries/reap.ts";
import { release } from "../queries/release.ts";
import { releaseClaim } from "../queries/release-claim.ts";
import type { Db } from "../queries/statement.ts";
import { upsertTicker } from "../queries/upsert-ticker.ts";
import { defineJob, defineTicker } from "../tasks/define.ts";
import { done, retry } from "../tasks/result.ts";
import { sentBy } from "./sent-by.ts";
import type { OwnIndex } from "./task-indexes.ts";

export interface HotStatement {
  readonly name: string;
  readonly statement: SQL;
  /** Those that it may read. */
  readonly indexes: readonly OwnIndex[];
}

const count = 100;

/** What workers send all the time, and whoever enqueues with a hash: each in the forms that differ in their plan. */
export async function hotStatements(binding: Binding, db: Db, queue: string): Promise<HotStatement[]> {
  const builders = [...claims(binding, db, queue), ...ends(binding, db, queue), ...sweeps(binding, db, queue)];
  const sent = await Promise.all(
    calls(binding, queue).map(async ([name, call, indexes]) =>
      (await sentBy(call)).map((statement) => ({ name, statement, indexes })),
    ),
  );
  return [
    ...builders.map(([name, builder, indexes]) => ({ name, statement: builder.getSQL(), indexes })),
    ...sent.flat(),
  ];
}

type Hot<T> = readonly [name: string, what: T, indexes: readonly OwnIndex[]];
type Builder = { getSQL(): SQL };

function specs(queue: string) {
  const payload = v.any();
  return {
    job: defineJob({ queue, payload }),
    unretained: defineJob({ queue, payload, retain: { completed: 0 } }),
    active: defineJob({ queue, payload, dedup: "active" }),
    ticker: defineTicker({ queue, key: "plans", payload, initialPayload: null, every: "1d" }),
  };
}

function claims(binding: Binding, db: Db, queue: string): Hot<Builder>[] {
  const { job, ticker } = specs(queue);
  const last = { priority: 0, exactRunAt: "2000-01-01 00:00:00+00", id: 1 };
  return [
    ["claim", claim(binding, db, job, { limit: count }), ["claim", "pkey"]],
    ["claim after a task", claim(binding, db, job, { limit: count, after: [last] }), ["claim", "pkey"]],
    ["claim without crashed", claim(binding, db, job, { limit: count, crashed: false }), ["claim", "pkey"]],
    ["claim of a ticker", claim(binding, db, ticker, { limit: 1 }), ["claim", "key", "pkey"]],
  ];
}

/** What is sent of tasks that are held: where all are of one claim it has another form than where they are of two. */
function ends(binding: Binding, db: Db, queue: string): Hot<Builder>[] {
  const { job, unretained } = specs(queue);
  const ofOne = heldTasks(queue);
  const mixed = ofOne.map((task, i) => ({ task, result: i % 2 ? done() : retry("plans") }));
  const ofForms: Hot<Builder>[] = [
    ["finalize", finalize(binding, db, job, mixed), ["pkey"]],
    ["finalize that deletes some", finalize(binding, db, unretained, mixed), ["pkey"]],
    ["finalizeOrThrow", finalize(binding, db, job, mixed[0]!, { wait: true }), ["pkey"]],
  ];
  const token = newClaimToken();
  const ofTwo = ofOne.map((task, i) => (i % 2 ? { ...task, token } : task));
  for (const [suffix, tasks] of [
    ["", ofOne],
    [" of two claims", ofTwo],
  ] as const) {
    const completed = tasks.map((task) => ({ task, result: done() }));
    ofForms.push(
      [`finalize of completions${suffix}`, finalize(binding, db, job, completed), ["pkey"]],
      [`finalize that deletes${suffix}`, finalize(binding, db, unretained, completed), ["pkey"]],
      [`release${suffix}`, release(binding, db, job, tasks), ["pkey"]],
      [`extendLease${suffix}`, extendLease(binding, db, job, tasks), ["pkey"]],
      [`markStarted${suffix}`, markStarted(binding, db, job, tasks), ["pkey"]],
    );
  }
  return ofForms;
}

function sweeps(binding: Binding, db: Db, queue: string): Hot<Builder>[] {
  const { job } = specs(queue);
  const ended = { queue, olderThan: "1d", limit: 1_000 } as const;
  return [
    ["releaseClaim", releaseClaim(binding, db, job, newClaimToken()), ["lease", "pkey"]],
    ["reap", reap(binding, db, job), ["lease", "pkey"]],
    ["purge of completed", purge(binding, db, { ...ended, status: "completed" }), ["finished", "pkey"]],
    ["purge of failed", purge(binding, db, { ...ended, status: "failed" }), ["finished", "pkey"]],
    ["getTask", getTask(binding, db, 1), ["pkey"]],
  ];
}

/** An insert is planned without the user's own columns: those that are required would need values, and none is looked up. */
function calls(binding: Binding, queue: string): Hot<(db: Db) => PromiseLike<unknown>>[] {
  const own = { ...binding, extra: {} };
  const { job, active, ticker } = specs(queue);
  const hash = "pgqueue-plans";
  const items = Array.from({ length: count }, (_, i) => ({ payload: i, hash: `${hash}-${i}` }));
  return [
    ["heldBy", (db) => heldBy(own, db, job, heldTasks(queue)), ["pkey"]],
    ["enqueue", (db) => enqueue(own, db, job, null, { hash }), ["hash"]],
    ['enqueue with dedup "active"', (db) => enqueue(own, db, active, null, { hash }), ["hash"]],
    ["enqueueMany", (db) => enqueueMany(own, db, job, items), ["hash"]],
    ['enqueueMany with dedup "active"', (db) => enqueueMany(own, db, active, items), ["hash"]],
    ["upsertTicker", (db) => upsertTicker(own, db, ticker), ["key"]],
  ];
}

function heldTasks(queue: string): Claimed[] {
  const claim = { queue, key: null, token: newClaimToken(), claims: 1, attempt: 1, maxRetries: null } as Claimed;
  return Array.from({ length: count }, (_, i) => ({ ...claim, id: i + 1 }));
}
