import { expect, test } from "vitest";
import * as v from "valibot";
import { createWorker, defineJob, defineTicker, createPgqueue } from "../../src/index.ts";
import * as schema from "../../src/schema/index.ts";
import { createTestDatabase, drain } from "../../src/testing/index.ts";

const pgqueue = createPgqueue({ tasks: schema.tasks, queues: schema.queues });
const mail = defineJob({ queue: "mail", payload: v.object({ n: v.number() }) });
const daily = defineTicker({ queue: "daily", key: "k", every: "1d", payload: v.object({ n: v.number() }), initialPayload: { n: 0 } });
test("x", async () => {
  const t = (n: string, s: number) => console.log(n, Math.round(performance.now() - s));
  for (let i = 0; i < 4; i++) {
    let s = performance.now();
    const { db, close } = await createTestDatabase({ schema });
    t("create", s);
    s = performance.now();
    const worker = createWorker({ db, pgqueue, onEvent: () => {} });
    let tries = 0;
    worker.register(mail, async () => { if (++tries < 4) throw new Error("x"); });
    worker.register(daily, async (job) => { job.payload.n++; });
    await pgqueue.enqueue(db, mail, { n: 1 });
    const runs = await drain(worker, { until: "30d" });
    t("drain", s);
    expect(runs.length).toBe(4 + 31);
    await close();
  }
}, 60000);
