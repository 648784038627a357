import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { bench } from "./modules.ts";

const { MeasuredProcess } = await bench("measured-process.ts");

const program = fileURLToPath(new URL("children/child.mjs", import.meta.url));
const started: { kill(): void }[] = [];

function start(does: string, patience = 10_000) {
  const process = new MeasuredProcess("work", { side: "pgqueue", does }, { program, patience });
  started.push(process);
  return process;
}

afterEach(() => {
  for (const process of started.splice(0)) process.kill();
});

test("it is ready, tells how much is done, and reports", async () => {
  const process = start("works");
  const told: number[] = [];
  process.onProgress = (done: number) => told.push(done);
  await process.ready;
  process.begin();
  expect(await process.report).toBe("begun");
  expect(told).toEqual([3]);
});

test("one that exits fails with its code and what it printed, whichever is waited for", async () => {
  const process = start("exits");
  const message = "work of pgqueue ended with code 7: out of memory";
  await expect(process.ready).rejects.toThrow(message);
  await expect(process.report).rejects.toThrow(message);
});

test("one that is killed fails with the signal", async () => {
  await expect(start("is killed").report).rejects.toThrow(/^work of pgqueue ended by SIGKILL$/);
  const process = start("works");
  await process.ready;
  process.kill();
  await expect(process.report).rejects.toThrow("work of pgqueue ended by SIGKILL");
});

test("one that tells of an error fails with it", async () => {
  const process = start("tells of an error");
  await expect(process.report).rejects.toThrow("work of pgqueue failed: Error: the queue is broken");
});

test("one that says nothing for long fails, but not one that only takes long", async () => {
  await expect(start("nothing", 500).report).rejects.toThrow(
    "work of pgqueue hangs: there was no word from it for 0.5 s",
  );
  const began = performance.now();
  expect(await start("works slowly", 1_500).report).toBe(8);
  expect(performance.now() - began).toBeGreaterThan(1_500);
});
