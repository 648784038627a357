import { describe, expect, test } from "vitest";
import { majors, Project } from "../projects/project.ts";

// As a user would see it: on the built package, which no test runner translates.

describe.each(majors)("on drizzle %s", (major) => {
  test("a test of three retries and a month of daily ticks takes under 200 ms", { timeout: 120_000 }, async () => {
    const project = await Project.create(major);
    await project.write("month.js", month);
    const { code, stdout, stderr } = await project.node("month.js");
    await project.remove();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toBeLessThan(200);
  });
});

// The fastest of up to sixty: the first ones compile Postgres, and others may have work for the machine too.
const month = `
import assert from "node:assert/strict";
import { createPgqueue, createWorker, defineJob, defineTicker } from "pgqueue";
import { queues, tasks } from "pgqueue/schema";
import { createTestDatabase, drain, enqueued, expectEnqueued } from "pgqueue/testing";
import * as v from "valibot";

const pgqueue = createPgqueue({ tasks, queues });
const mail = defineJob({ queue: "mail", payload: v.object({ to: v.string() }) });
const daily = defineTicker({
  queue: "daily", key: "report", every: "1d", payload: v.object({ page: v.number() }), initialPayload: { page: 1 },
});

async function aTest(db) {
  const worker = createWorker({ db, pgqueue })
    .register(mail, ({ attempt }) => { if (attempt <= 3) throw new Error("the mail server is away"); })
    .register(daily, ({ payload }) => void payload.page++);
  await pgqueue.enqueue(db, mail, { to: "ada@example.com" });
  const runs = await drain(worker, { until: "30d" });
  assert.deepEqual(
    runs.filter(({ queue }) => queue === "mail").map(({ status }) => status),
    ["pending", "pending", "pending", "completed"],
  );
  assert.equal((await enqueued(db, mail))[0].attempt, 4);
  await expectEnqueued(db, daily, { payload: { page: 32 } });
}

let fastest = Infinity;
for (let i = 0; i < 60 && fastest >= 200; i++) {
  const { db, close } = await createTestDatabase({ schema: { tasks, queues } });
  const begin = performance.now();
  await aTest(db);
  fastest = Math.min(fastest, performance.now() - begin);
  await close();
}
console.log(fastest);
`;
