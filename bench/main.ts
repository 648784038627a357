import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { resultChart } from "./chart.ts";
import { type Command, helpText, parseCommand } from "./command-line.ts";
import { Databases } from "./databases.ts";
import { gate, notGated } from "./gate.ts";
import { describeMachine, describeVersions } from "./machine.ts";
import { publish } from "./publish.ts";
import type { Results, ScenarioResult } from "./results.ts";
import { runScenario } from "./run.ts";
import { allScenarios } from "./scenarios/all.ts";
import { serverSettings, startServer } from "./server.ts";
import { gateTable, resultTables } from "./table.ts";
import { UsageError } from "./usage-error.ts";

// A server that is starting has no place yet where it would be found; later it ends and is removed with this process.
let starting: Promise<unknown> = Promise.resolve();
process.once("SIGINT", () => endAfterStart(130));
process.once("SIGTERM", () => endAfterStart(143));

function endAfterStart(code: number): void {
  // Either way, and before what still runs can fail for it.
  starting.then(
    () => process.exit(code),
    () => process.exit(code),
  );
}

process.exit(await main(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<number> {
  const names = allScenarios(false).map(({ name }) => name);
  try {
    const command = parseCommand(args, names);
    if (command?.publish) await publish(command.publish);
    else if (command) return await benchmark(command);
    else console.log(helpText(names));
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    return 2;
  }
}

async function benchmark(command: Command): Promise<number> {
  const results = await measure(command);
  const rows = gate(results);
  console.log(`\n${resultTables(results)}\n`);
  if (rows.length > 0) console.log(`${gateTable(rows)}\n`);
  const name = results.date.replaceAll(":", "-").replace(/\..*/, "");
  await write(command.json ?? inResults(`${name}.json`), JSON.stringify({ ...results, gate: rows }, null, 2));
  await write(command.svg ?? inResults(`${name}.svg`), resultChart(results));
  if (command.quick) console.log("This was a quick run: its figures are not to be quoted.");

  const failed = results.scenarios.flatMap(({ name, contenders }) =>
    contenders.filter(({ error }) => error).map((contender) => `${name}: ${contender.name}`),
  );
  const missed = command.gate ? rows.filter(({ ok }) => !ok).map(({ row }) => row) : [];
  for (const row of failed) console.error(`Failed: ${row}`);
  for (const row of command.gate ? notGated(results) : []) console.error(`Not gated: ${row}`);
  for (const row of missed) console.error(`Missed: ${row}`);
  return failed.length + missed.length > 0 ? 1 : 0;
}

async function measure({ only, quick, repetitions }: Command): Promise<Results> {
  // Fails at once where there is nothing to measure.
  await import("./package-under-test.ts");
  const date = new Date().toISOString();
  const started = startServer();
  starting = started;
  const server = await started;
  try {
    const databases = new Databases(server);
    const chosen = allScenarios(quick).filter(({ name }) => only.length === 0 || only.includes(name));
    const scenarios: ScenarioResult[] = [];
    for (const scenario of chosen) scenarios.push(await runScenario(databases, scenario, repetitions, tell));
    await databases.end();
    const versions = describeVersions(server.version);
    return { date, quick, machine: describeMachine(), versions, server: serverSettings, scenarios };
  } finally {
    await server.stop();
  }
}

function tell(line: string): void {
  const seconds = Math.round(performance.now() / 1_000);
  console.error(`${String(seconds).padStart(5)} s  ${line}`);
}

function inResults(file: string): string {
  return fileURLToPath(new URL(`results/${file}`, import.meta.url));
}

async function write(file: string, content: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${content}\n`);
  console.log(`Written: ${file}`);
}
