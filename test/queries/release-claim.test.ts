import { afterAll, expect, test } from "vitest";
import { newClaimToken } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimAll, expire, idsOf, job, pgqueue, rowOf } from "./jobs.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db } = database;
afterAll(database.end);
const { claim, enqueueMany, releaseClaim } = pgqueue;

const items = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

test("gives back all that a claim took, the attempts uncharged", async () => {
  const spec = job();
  await enqueueMany(db, spec, items(4));
  const [first, ...rest] = await idsOf(db, spec);
  const before = await Promise.all(rest.map((id) => rowOf(db, id)));
  const [other] = await claim(db, spec, { limit: 1 });
  const token = newClaimToken();
  await claim(db, spec, { limit: 10, token });

  const released = await releaseClaim(db, spec, token);
  expect(released.map(({ id }) => id).sort((a, b) => a - b)).toEqual(rest);
  expect(await Promise.all(rest.map((id) => rowOf(db, id)))).toEqual(before.map((row) => ({ ...row, claims: 1 })));
  expect(await pgqueue.heldBy(db, spec, [other!])).toMatchObject([{ id: first, holding: "busy" }]);
  expect(await releaseClaim(db, spec, token)).toEqual([]);
});

test("leaves alone what others have taken over since", async () => {
  const spec = job({ retryDelay: 0 });
  await enqueueMany(db, spec, items(2));
  const token = newClaimToken();
  const [a] = await claim(db, spec, { limit: 1, token });
  await expire(db, a!.id);
  await pgqueue.reap(db, spec);
  const taken = await claimAll(db, spec);
  expect(await releaseClaim(db, spec, token)).toEqual([]);
  expect(await pgqueue.heldBy(db, spec, taken)).toMatchObject(taken.map(({ id }) => ({ id, holding: "busy" })));
});

test("of another queue's spec gives nothing back", async () => {
  const spec = job();
  await enqueueMany(db, spec, items(1));
  const token = newClaimToken();
  await claim(db, spec, { limit: 1, token });
  expect(await releaseClaim(db, job(), token)).toEqual([]);
});

test("skips a locked row without a wait", async () => {
  const spec = job();
  await enqueueMany(db, spec, items(2));
  const token = newClaimToken();
  const [task, free] = await claim(db, spec, { limit: 2, token });
  const { tx, rollback } = await begin(db);
  await pgqueue.finalizeOrThrow(tx, spec, { task: task!, result: { type: "done" } });
  expect(await releaseClaim(db, spec, token)).toEqual([{ id: free!.id }]);
  await rollback();
  expect(await releaseClaim(db, spec, token)).toEqual([{ id: task!.id }]);
});
