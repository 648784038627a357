import { afterAll, expect, test } from "vitest";
import { OptionsError } from "../../src/index.ts";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, claimOne, expire, job, pgqueue } from "./jobs.ts";
import { recorded } from "./recorder.ts";
import { begin, impatient } from "./transactions.ts";

const database = await createDatabase({ migrated: true, client: impatient });
const { db, client } = database;
afterAll(database.end);
const { heldBy } = pgqueue;

test("tells busy, lost and gone apart, in the order given, without waiting for a lock", async () => {
  const spec = job({ retryDelay: 0 });
  const [busy, taken, disabled, ended, gone] = await claimNew(db, spec, 5);
  await expire(db, taken!.id);
  await pgqueue.reap(db, spec);
  await claimOne(db, spec);
  await pgqueue.disable(db, disabled!.id);
  await pgqueue.finalize(db, spec, { task: ended!, result: { type: "done" } });
  await client`delete from pgqueue_tasks where id = ${gone!.id}`;
  const { tx, rollback } = await begin(db);
  await pgqueue.finalizeOrThrow(tx, spec, { task: busy!, result: { type: "done" } });
  expect(await heldBy(db, spec, [gone!, ended!, busy!, disabled!, taken!])).toMatchObject([
    { id: gone!.id, holding: "gone" },
    { id: ended!.id, holding: "lost" },
    { id: busy!.id, holding: "busy" },
    { id: disabled!.id, holding: "lost" },
    { id: taken!.id, holding: "lost" },
  ]);
  await rollback();
});

test("of none sends nothing; of another queue or of a task twice is refused", async () => {
  const spec = job();
  const [task] = await claimNew(db, spec, 1);
  const handle = recorded(database);
  expect(await heldBy(handle.db, spec, [])).toEqual([]);
  await expect(heldBy(handle.db, job(), [task!])).rejects.toThrow(OptionsError);
  expect(await heldBy(db, spec, [task!, task!])).toHaveLength(2);
  expect(handle.statements).toEqual([]);
});
