import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { majors } from "../projects/project.ts";
import { Kit } from "./kit.ts";
import { schemaOfSets, sets } from "./sets.ts";

describe.concurrent.each(majors)("createTestDatabase on drizzle %s", (major) => {
  let kit: Kit;
  beforeAll(async () => {
    kit = await Kit.create(major);
    await kit.project.write("schema.ts", schemaOfSets);
    await kit.project.write("run.ts", program);
  });
  afterAll(() => kit.project.remove());

  test("has the tables of a schema with every option, and the user's own", { timeout: 120_000 }, async () => {
    const names = sets.map(({ exports }) => exports);
    const { code, stdout, stderr } = await kit.project.node("run.ts", [JSON.stringify(names)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ runs: sets.map(() => 1), statuses: sets.map(() => "completed"), orders: 1 });
  });
});

const program = `
import { createPgqueue, createWorker, defineJob } from "pgqueue";
import { createTestDatabase } from "pgqueue/testing";
import * as v from "valibot";
import * as schema from "./schema.ts";

const job = defineJob({ queue: "a", payload: v.object({ n: v.number() }) });
const { db, close } = await createTestDatabase({ schema });
await db.insert(schema.orders).values({ id: 1, email: "ada@example.com" });
const runs: number[] = [];
const statuses: string[] = [];
for (const [tasks, queues] of JSON.parse(process.argv[2]!)) {
  const tables: any = { tasks: (schema as any)[tasks], queues: (schema as any)[queues] };
  const pgqueue = createPgqueue(tables);
  const options: {} = "orderId" in tables.tasks ? { columns: { orderId: 1 } } : {};
  const { id } = await pgqueue.enqueue(db, job, { n: 1 }, options);
  const worker = createWorker({ db, pgqueue }).register(job, () => {});
  runs.push(await worker.drain());
  const [task] = await pgqueue.getTask(db, id);
  statuses.push(task!.status);
}
console.log(JSON.stringify({ runs, statuses, orders: (await db.select().from(schema.orders)).length }));
await close();
`;
