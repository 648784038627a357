import type { Activity, SettledEvent, WorkerEvent } from "pgqueue";
import { describe, expectTypeOf, test } from "vitest";

type Of<Type> = { type: Type; queue: string; taskId: number };
declare const event: WorkerEvent;

describe("WorkerEvent", () => {
  test("is told apart by its type", () => {
    expectTypeOf<WorkerEvent["type"]>().toEqualTypeOf<
      "settled" | "lost" | "unknown" | "abandoned" | "error" | "warning"
    >();
    if (event.type === "settled") {
      expectTypeOf(event).toEqualTypeOf<SettledEvent>();
      expectTypeOf(event.result).toEqualTypeOf<"done" | "retry" | "fail" | "skip">();
      expectTypeOf(event.status).toEqualTypeOf<"pending" | "completed" | "failed">();
      expectTypeOf(event.duration).toEqualTypeOf<number>();
      expectTypeOf(event.error).toBeUnknown();
    } else if (event.type === "error") {
      expectTypeOf(event.during).toEqualTypeOf<Activity>();
      expectTypeOf(event.taskId).toEqualTypeOf<number | undefined>();
      expectTypeOf(event.error).toBeUnknown();
    } else if (event.type === "warning") {
      expectTypeOf(event.message).toEqualTypeOf<string>();
    } else {
      expectTypeOf(event).toEqualTypeOf<Of<"lost"> | Of<"unknown"> | Of<"abandoned">>();
    }
  });

  test("is narrowed before what only some have", () => {
    // @ts-expect-error a warning is of no task
    event.taskId;
    // @ts-expect-error no such event
    event.type === "done";
  });

  test("names what a worker does", () => {
    expectTypeOf<Activity>().toEqualTypeOf<
      "start" | "listen" | "claim" | "begin" | "release" | "settle" | "reap" | "purge" | "watch"
    >();
  });
});
