import { openDatabase } from "./database.ts";
import { say } from "./narrator.ts";
import { Outcomes } from "./outcomes.ts";
import { checkout } from "./scenes/checkout.ts";
import { poison } from "./scenes/poison.ts";
import { retryLater } from "./scenes/retry.ts";
import { staleHolder } from "./scenes/stale-holder.ts";
import { ticker } from "./scenes/ticker.ts";
import { webhook } from "./scenes/webhook.ts";
import { countFigures, exitCodeOf, printSummary } from "./summary.ts";
import { startWorkers } from "./workers.ts";

console.log("On the left: seconds.\n");
const database = await openDatabase();
const { db } = database;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    // A transaction that is cut off may reject where nobody waits for it, and must not end the process before the clean-up.
    process.on("unhandledRejection", () => {});
    await database.close().catch(console.error);
    process.exit(1);
  });
}

try {
  const outcomes = new Outcomes();
  const workers = await startWorkers(db, outcomes);
  say(`a small shop opens on ${database.name}; two workers are at work`);

  await checkout(db, outcomes);
  await retryLater(db, outcomes);
  await poison(db, outcomes);
  await webhook(db, outcomes);
  await staleHolder(db);
  await ticker(db, outcomes);

  await Promise.all(workers.map((worker) => worker.stop()));
  const figures = await countFigures(db);
  printSummary(figures);
  process.exitCode = exitCodeOf(figures);
} finally {
  await database.close();
}
