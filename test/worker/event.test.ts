import { inspect } from "node:util";
import { DrizzleQueryError } from "drizzle-orm";
import { afterEach, expect, test, vi } from "vitest";
import { printEvent } from "../../src/worker/event.ts";

const settled = { type: "settled", queue: "mail", taskId: 7, attempt: 2, duration: 1 } as const;

afterEach(() => void vi.restoreAllMocks());

test("passes over what went well", () => {
  const print = [vi.spyOn(console, "warn"), vi.spyOn(console, "error"), vi.spyOn(console, "log")];
  printEvent({ ...settled, result: "done", status: "completed" });
  for (const spy of print) expect(spy).not.toHaveBeenCalled();
});

test.each([
  ["retry", "pending", "failed at try 2 and runs again"],
  ["retry", "failed", "failed at try 2 for good"],
  ["fail", "failed", "failed at try 2 for good"],
  ["skip", "failed", "failed at try 2 for good"],
  ["skip", "pending", "skipped this run"],
] as const)("warns of a run that ended in %s and left the task %s, with its error", (result, status, end) => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const error = new Error("my bug");
  printEvent({ ...settled, result, status, error });
  expect(warn).toHaveBeenCalledExactlyOnceWith(`pgqueue: task 7 of queue "mail" ${end}:`, error);
});

test.each(["lost", "unknown", "abandoned"] as const)("warns of a task that is %s", (type) => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  printEvent({ type, queue: "mail", taskId: 42 });
  expect(warn).toHaveBeenCalledExactlyOnceWith(`pgqueue: task 42 of queue "mail" is ${type}`);
});

test("prints warnings as they are", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  printEvent({ type: "warning", message: "hardly as meant" });
  expect(warn).toHaveBeenCalledExactlyOnceWith("pgqueue: hardly as meant");
});

test("prints no parameters of a statement that an error has for its cause, however deep", () => {
  const print = vi.spyOn(console, "error").mockImplementation(() => {});
  const query = new DrizzleQueryError("update", ["secret"], new Error("deadlock detected"));
  for (const error of [new Error("no receipt", { cause: query }), query, new DrizzleQueryError("select", ["secret"])]) {
    printEvent({ type: "error", during: "settle", queue: "mail", error });
  }
  const text = inspect(print.mock.calls, { depth: 9 });
  expect(text).toMatch(/no receipt[\s\S]*\[cause\] Error: deadlock detected/);
  expect(text).not.toContain("secret");
});

test("prints an error without the statement's parameters", () => {
  const print = vi.spyOn(console, "error").mockImplementation(() => {});
  const cause = new Error("deadlock detected");
  printEvent({
    type: "error",
    during: "settle",
    queue: "mail",
    error: new DrizzleQueryError("update", ["secret"], cause),
  });
  printEvent({ type: "error", during: "begin", queue: "mail", taskId: 7, error: cause });
  printEvent({ type: "error", during: "start", error: cause });
  expect(print.mock.calls).toEqual([
    ['pgqueue: settle of queue "mail":', cause],
    ['pgqueue: begin task 7 of queue "mail":', cause],
    ["pgqueue: the database cannot be reached, trying again:", cause],
  ]);
});
