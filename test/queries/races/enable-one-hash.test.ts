import { afterAll, expect, test } from "vitest";
import { fail } from "../../../src/index.ts";
import { createDatabase } from "../../postgres/database.ts";
import { claimOne, job, pgqueue, rowOf } from "../jobs.ts";
import { begin, blocked, impatient, sqlState } from "../transactions.ts";

// Two ended tasks of one "active" hash; only one of them may be pending again.

const database = await createDatabase({ migrated: true, client: impatient });
const { db } = database;
afterAll(database.end);

const twoFailed = async () => {
  const spec = job({ dedup: "active", hash: () => "h" });
  const ids: number[] = [];
  for (let i = 0; i < 2; i++) {
    ids.push((await pgqueue.enqueue(db, spec, i)).id);
    await pgqueue.finalize(db, spec, { task: await claimOne(db, spec), result: fail("x") });
  }
  return { spec, ids: ids as [number, number] };
};

test.each(["enable", "enqueue"] as const)(
  "an enable beside an uncommitted %s never makes two holders",
  async (other) => {
    const { spec, ids } = await twoFailed();
    const open = await begin(db);
    if (other === "enable") await pgqueue.enable(open.tx, ids[0]);
    else await pgqueue.enqueue(open.tx, spec, 3);
    const second = sqlState(pgqueue.enable(db, ids[1]));
    await blocked(database);
    await open.commit();
    // The index has the last word; asked again, enable has seen the holder.
    expect(await second).toBe("23505");
    expect(await pgqueue.enable(db, ids[1])).toEqual([]);
    expect(await rowOf(db, ids[1])).toMatchObject({ status: "failed", hashHeld: false });
  },
);
