import { afterAll, expect, test } from "vitest";
import { createDatabase } from "../postgres/database.ts";
import { claimNew, job, pgqueue, rowOf } from "./jobs.ts";

const database = await createDatabase({ migrated: true });
const { db } = database;
afterAll(database.end);

test("is the row, without what would prove its claim", async () => {
  const [claimed] = await claimNew(db, job(), 1);
  const [task] = await pgqueue.getTask(db, claimed!.id);
  const { claimToken, claims, hashHeld, startedAt, ...rest } = await rowOf(db, claimed!.id);
  expect(claimToken).toBe(claimed!.token);
  expect(task).toEqual({ ...rest, columns: {} });
});

test("is none where there is no such task", async () => {
  expect(await pgqueue.getTask(db, 999_999_999)).toEqual([]);
});
