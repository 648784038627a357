import type { Side, SideName } from "./side.ts";

// Each only where it is asked for: a measured process holds the code of one side.
const loaders: Record<SideName, () => Promise<Side>> = {
  pgqueue: async () => (await import("./pgqueue.ts")).pgqueueSide,
  floor: async () => (await import("./floor.ts")).floorSide,
  "graphile-worker": async () => (await import("./graphile-worker.ts")).graphileWorkerSide,
  "pg-boss": async () => (await import("./pg-boss.ts")).pgBossSide,
};

export function loadSide(name: SideName): Promise<Side> {
  return loaders[name]();
}
