import { DrizzleQueryError } from "drizzle-orm";
import { afterEach, expect, test, vi } from "vitest";
import { printEvent } from "../../src/worker/event.ts";

afterEach(() => void vi.restoreAllMocks());

test("passes over what went well", () => {
  const print = [vi.spyOn(console, "warn"), vi.spyOn(console, "error"), vi.spyOn(console, "log")];
  printEvent({ type: "settled", queue: "q", taskId: 1, result: "done", duration: 1 });
  for (const spy of print) expect(spy).not.toHaveBeenCalled();
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

test("prints an error without the statement's parameters", () => {
  const print = vi.spyOn(console, "error").mockImplementation(() => {});
  const cause = new Error("deadlock detected");
  printEvent({
    type: "error",
    during: "settle",
    queue: "mail",
    error: new DrizzleQueryError("update", ["secret"], cause),
  });
  printEvent({ type: "error", during: "start", error: cause });
  expect(print.mock.calls).toEqual([
    ['pgqueue: settle of queue "mail":', cause],
    ["pgqueue: start:", cause],
  ]);
});
