import type { Kit } from "./kit.ts";

/** Where the user's code finds the two tables of a queue. */
export interface TableSet {
  /** As in an import of a module in the folder of the project. */
  readonly module: string;
  /** Names of its exports; one name, where an object holds both. */
  readonly exports: readonly [tasks: string, queues: string] | readonly [both: string];
}

export interface Target {
  /** Connection string; without one, a PGlite inside the process. */
  url?: string;
  /** Folder of migrations to apply by drizzle-orm's own migrator first. */
  migrations?: string;
}

/**
 * Runs a user's code in the project: on each database, and for each set of tables, a task goes from enqueue to its
 * end, and a queue is paused. Returns what became of each: `completed`, or the error.
 */
export async function runTasks(kit: Kit, sets: readonly TableSet[], targets: readonly Target[]): Promise<string[][]> {
  await kit.project.write("run-tasks.mts", program);
  const { code, stdout, stderr } = await kit.project.node("run-tasks.mts", [JSON.stringify({ sets, targets })]);
  if (code !== 0) throw new Error(`The user's code failed:\n${stdout}\n${stderr}`);
  return JSON.parse(stdout.slice(stdout.lastIndexOf("\n[") + 1));
}

const program = `
import { PGlite } from "@electric-sql/pglite";
import { drizzle as drizzlePglite } from "drizzle-orm/pglite";
import { migrate as migratePglite } from "drizzle-orm/pglite/migrator";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import { createPgqueue, defineJob, done } from "pgqueue";
import postgres from "postgres";
import * as v from "valibot";

const { sets, targets } = JSON.parse(process.argv[2]!);
const job = defineJob({ queue: \`receipts-\${process.pid}\`, payload: v.object({ n: v.number() }), hash: ({ n }) => String(n) });
let n = 0;

async function runTask(db: any, tables: any): Promise<string> {
  const pgqueue = createPgqueue(tables);
  const options: {} = "orderId" in tables.tasks ? { columns: { orderId: 1 } } : {};
  const { id } = await pgqueue.enqueue(db, job, { n: ++n }, options);
  const again = await pgqueue.enqueue(db, job, { n }, options);
  if (again.id !== id) throw new Error("enqueued twice");
  await pgqueue.pauseQueue(db, job);
  if ((await pgqueue.claim(db, job, { limit: 1 })).length > 0) throw new Error("claimed from a paused queue");
  await pgqueue.resumeQueue(db, job);
  const [task] = await pgqueue.claim(db, job, { limit: 1 });
  await pgqueue.markStarted(db, job, [task!]);
  await pgqueue.finalize(db, job, { task: task!, result: done() });
  const [row] = await pgqueue.getTask(db, id);
  return row!.status;
}

async function runSets(db: any): Promise<string[]> {
  const results: string[] = [];
  for (const { module, exports: [first, second] } of sets) {
    const schema = await import(module);
    const tables = second ? { tasks: schema[first], queues: schema[second] } : schema[first];
    if (schema.orders) await db.insert(schema.orders).values({ id: 1, email: "ada@example.com" }).onConflictDoNothing();
    results.push(await runTask(db, tables).catch((error) => String(error.cause && !error.code ? error.cause : error)));
  }
  return results;
}

const results: string[][] = [];
for (const { url, migrations } of targets) {
  const client: any = url ? postgres(url, { onnotice() {} }) : await PGlite.create();
  const db: any = url ? drizzle({ client }) : drizzlePglite({ client });
  if (migrations) await (url ? migrate : migratePglite)(db, { migrationsFolder: migrations });
  results.push(await runSets(db));
  await (url ? client.end() : client.close());
}
console.log("\\n" + JSON.stringify(results));
`;
