import type { WorkerEvent } from "pgqueue";
import { drain } from "pgqueue/testing";
import { close, db } from "./db.ts";
import { importContacts, pgqueue } from "./queue.ts";
import { contacts } from "./schema.ts";
import { createSource } from "./source.ts";
import { createImporter, type Moment } from "./worker.ts";

let death: Moment | undefined;
function reach(moment: Moment): void {
  if (moment !== death) return;
  death = undefined;
  throw new Error(`died ${moment}`);
}

function tell(event: WorkerEvent): void {
  if (event.type === "settled") console.log(`  try ${event.attempt}: ${event.result}`);
  if ("error" in event && event.error) console.log(`  ${event.error}`);
}

const worker = createImporter(createSource(["Ada", "Bob", "Cleo", "Dan", "Eve"], 2), reach, tell);

/** Runs what is due by then; `drain` moves time on instead of waiting. */
async function run(name: string, until: `${number}s`, dies?: Moment): Promise<void> {
  console.log(name);
  death = dies;
  await drain(worker, { until });
  const [ticker] = await pgqueue.listTasks(db, { queue: importContacts });
  console.log(`  ${await db.$count(contacts)} contacts, payload ${JSON.stringify(ticker!.payload)}`);
}

try {
  await run("a tick", "0s");
  await run("one that dies before its commit", "60s", "before the commit");
  await run("its next try", "30s");
  await run("one that dies after its commit", "60s", "after the commit");
  await run("one that finds nothing new", "60s");
} finally {
  await close();
}
