import { parseArgs } from "node:util";
import { milliseconds } from "../../src/tasks/duration.ts";
import { soak } from "./soaking.ts";

// npm run soak -- 10m --seed 7 --tasks 50000 --workers 4

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, tasks: { type: "string" }, workers: { type: "string" } },
});
const duration = milliseconds("duration", (positionals[0] ?? "2m") as "2m", 1_000);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
const tasks = Number(values.tasks ?? Math.round((duration / 120_000) * 20_000));
const workers = Number(values.workers ?? 3);

console.log(`soak for ${duration / 1_000} s with ${tasks} tasks and ${workers} workers; again with --seed ${seed}`);
const began = performance.now();
const { offenders, runs, faults } = await soak({ duration, tasks, workers, seed, print: console.log });
for (const [fault, count] of Object.entries(faults)) console.log(`${count} × ${fault}`);
console.log(`${tasks} tasks in ${runs} runs, ${Math.round((performance.now() - began) / 1_000)} s`);
for (const offender of offenders) console.error(offender);
console.log(offenders.length === 0 ? "every task is accounted for" : `${offenders.length} offenders`);
process.exitCode = offenders.length === 0 ? 0 : 1;
