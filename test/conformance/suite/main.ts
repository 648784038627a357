import { inspect } from "node:util";
import type { Case } from "./case.ts";
import { cases } from "./cases.ts";
import type { DriverName, Mode } from "./driver.ts";
import { printReport, type Report } from "./report.ts";
import { Subject } from "./subject.ts";

// Runs the cases in one cell of the matrix, or those with a part in their name: main.ts <driver> <mode> <url> [part]

const [driver, mode, url, part = ""] = process.argv.slice(2) as [DriverName, Mode, string, string?];
const limit = 15_000;

let subject = await Subject.open(driver, url, mode);
for (const one of cases.filter(({ name }) => name.includes(part))) printReport(await report(one));
// Whatever a case that failed left open must not keep the process.
await within(subject.close()).catch(() => {});
process.exit(0);

async function report(one: Case): Promise<Report> {
  const { name, needs = [] } = one;
  const lack = needs.find((need) => subject.lacks[need] !== undefined);
  if (lack) return { name, end: "skipped", note: subject.lacks[lack]! };
  const error = await within(one.run(subject)).catch((reason: unknown) => ({ reason }));
  const fault = error ?? (await within(subject.endCase()).catch((reason: unknown) => ({ reason })));
  if (!fault) return { name, end: "passed" };
  // It may hold connections for ever; the only one, on PGlite.
  void subject.endCase().catch(() => {});
  subject = await Subject.open(driver, url, mode);
  return { name, end: "failed", note: describe(fault.reason) };
}

async function within(work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${limit} ms`)), limit);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Drizzle's errors are long, and the cause is at their end. */
function describe(error: unknown): string {
  if (!(error instanceof Error) || error.cause === undefined) return inspect(error, { depth: 4 });
  return `${error.message.slice(0, 500)}\n${error.stack?.split("\n    at ").slice(1).join("\n    at ")}\ncaused by ${inspect(error.cause)}`;
}
