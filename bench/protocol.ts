import type { ActivityName } from "./activities/load.ts";

// What a measured process and the one that measures it send to each other.

export type ToChild = { type: "do"; activity: ActivityName; input: unknown } | { type: "begin" } | { type: "end" };

export type FromChild =
  | { type: "ready" }
  | { type: "progress"; done: number }
  | { type: "report"; report: unknown }
  | { type: "error"; message: string };
