import { afterAll, expect, test } from "vitest";
import { OptionsError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { job, pgqueue } from "./jobs.ts";
import { recorded } from "./recorder.ts";

const database = await createDatabase({ migrated: true });
afterAll(database.end);
const { db, statements } = recorded(database);

const calls: Record<string, (spec: never) => unknown> = {
  enqueue: (spec) => pgqueue.enqueue(db, spec, 1 as never),
  enqueueMany: (spec) => pgqueue.enqueueMany(db, spec, []),
  upsertTicker: (spec) => pgqueue.upsertTicker(db, spec),
  claim: (spec) => pgqueue.claim(db, spec, { limit: 1 }),
  finalize: (spec) => pgqueue.finalize(db, spec, []),
  release: (spec) => pgqueue.release(db, spec, []),
  releaseClaim: (spec) => pgqueue.releaseClaim(db, spec, "00000000-0000-0000-0000-000000000000" as never),
  extendLease: (spec) => pgqueue.extendLease(db, spec, []),
  markStarted: (spec) => pgqueue.markStarted(db, spec, []),
  heldBy: (spec) => pgqueue.heldBy(db, spec, []),
  reap: (spec) => pgqueue.reap(db, spec),
  replacePayload: (spec) => pgqueue.replacePayload(db, spec, 1, 1 as never),
};

test.each(Object.keys(calls))("%s refuses what is no spec, before any SQL", async (name) => {
  for (const spec of [undefined, "send-receipt", {}, { queue: "send-receipt" }]) {
    await expect((async () => calls[name]!(spec as never))()).rejects.toThrow(
      expect.objectContaining({ constructor: OptionsError, field: `${name}.spec`, value: spec }),
    );
  }
  expect(statements).toEqual([]);
});

test("a token that is none is refused before any SQL", () => {
  expect(() => pgqueue.releaseClaim(db, job(), "abc" as never)).toThrow(
    expect.objectContaining({ constructor: OptionsError, field: "releaseClaim.token", value: "abc" }),
  );
  const task = { id: 1, queue: "q", claims: 1, token: "abc" } as never;
  expect(() => pgqueue.release(db, { ...job(), queue: "q" }, task)).toThrow(
    expect.objectContaining({ constructor: OptionsError, field: "release.tasks[0].token", value: "abc" }),
  );
  expect(statements).toEqual([]);
});
