export { type AssertPlansOptions, assertPlans } from "./assert-plans.ts";
export { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from "./database.ts";
export { type DrainedRun, type DrainOptions, drain } from "./drain.ts";
export { type EnqueuedOptions, type EnqueuedTask, enqueued } from "./enqueued.ts";
export { expectEnqueued, refuteEnqueued, type TaskPattern } from "./expect-enqueued.ts";
export { at } from "./moment.ts";
export { type Performed, type PerformOptions, perform } from "./perform.ts";
export { rollBack } from "./roll-back.ts";
