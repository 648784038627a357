import { AssertionError } from "node:assert";
import { inspect } from "node:util";
import type { Db } from "../queries/statement.ts";
import type { TaskStatus } from "../schema/columns.ts";
import type { Spec } from "../tasks/spec.ts";
import { type EnqueuedOptions, type EnqueuedTask, enqueued } from "./enqueued.ts";
import { type Mismatch, mismatches } from "./matching.ts";

type Deep<T> = T extends Date | RegExp
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Deep<Item>[]
    : T extends object
      ? { [K in keyof T]?: Deep<T[K]> }
      : T;

/** What is looked for in a task. What is left out may be anything; of an object only the members that are named count. */
export interface TaskPattern<Payload = unknown> {
  payload?: Deep<Payload>;
  status?: TaskStatus;
  priority?: number;
  hash?: string | null;
  maxRetries?: number | null;
  attempt?: number;
  runAt?: Date;
  meta?: Record<string, unknown> | null;
  output?: unknown;
  columns?: Record<string, unknown>;
}

const mostShown = 5;

/**
 * Asserts that a task of the spec was enqueued that is as `pattern` says, and resolves to the first. Matchers of your test
 * framework may stand in it, such as `expect.any(Number)`.
 *
 * @throws AssertionError that says of the nearest tasks in what they differ.
 * @throws OptionsError as `enqueued`.
 * @example
 * await expectEnqueued(db, sendReceipt, { payload: { orderId: 7 }, priority: 5 });
 */
export async function expectEnqueued<In>(
  db: Db,
  spec: Spec<In, any>,
  pattern: TaskPattern<NoInfer<In>> = {},
  options: EnqueuedOptions = {},
): Promise<EnqueuedTask<In>> {
  const tasks = await enqueued(db, spec, options);
  const compared = tasks.map((task) => ({ task, faults: mismatches(pattern, task) }));
  const found = compared.find(({ faults }) => faults.length === 0);
  if (found) return found.task;
  const nearest = compared.sort((a, b) => a.faults.length - b.faults.length).slice(0, mostShown);
  throw new AssertionError({
    message: [
      `no task of ${nameOf(spec)} is as expected; ${tasks.length === 0 ? "there is none" : `there are ${tasks.length}`}`,
      ...(tasks.length === 0 ? [`  expected ${show(pattern)}`] : []),
      ...nearest.flatMap(({ task, faults }) => [`  task ${task.id} (${task.status})`, ...faults.map(describe)]),
      ...(tasks.length > mostShown ? [`  and ${tasks.length - mostShown} more`] : []),
    ].join("\n"),
    actual: nearest[0] ? only(nearest[0].faults, "actual") : undefined,
    expected: nearest[0] ? only(nearest[0].faults, "expected") : pattern,
    operator: "expectEnqueued",
    stackStartFn: expectEnqueued,
  });
}

/**
 * Asserts that no task of the spec was enqueued that is as `pattern` says; without one, that none was at all.
 *
 * @throws AssertionError that shows what there is.
 * @throws OptionsError as `enqueued`.
 * @example
 * await refuteEnqueued(db, sendReceipt, { payload: { orderId: 7 } });
 */
export async function refuteEnqueued<In>(
  db: Db,
  spec: Spec<In, any>,
  pattern: TaskPattern<NoInfer<In>> = {},
  options: EnqueuedOptions = {},
): Promise<void> {
  const tasks = (await enqueued(db, spec, options)).filter((task) => mismatches(pattern, task).length === 0);
  if (tasks.length === 0) return;
  const shown = tasks.slice(0, mostShown).map((task) => `  task ${task.id} (${task.status}) ${show(task.payload)}`);
  const more = tasks.length > mostShown ? [`  and ${tasks.length - mostShown} more`] : [];
  throw new AssertionError({
    message: [
      `expected no task of ${nameOf(spec)} like ${show(pattern)}; there are ${tasks.length}`,
      ...shown,
      ...more,
    ].join("\n"),
    actual: tasks.length,
    expected: 0,
    operator: "refuteEnqueued",
    stackStartFn: refuteEnqueued,
  });
}

function nameOf(spec: Spec): string {
  return spec.kind === "job" ? `queue "${spec.queue}"` : `ticker "${spec.key}" of queue "${spec.queue}"`;
}

function describe({ path, expected, actual }: Mismatch): string {
  return `    ${path}: expected ${show(expected)}, is ${show(actual)}`;
}

function only(faults: readonly Mismatch[], side: "expected" | "actual"): Record<string, unknown> {
  return Object.fromEntries(faults.map((fault) => [fault.path, fault[side]]));
}

function show(value: unknown): string {
  return inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY });
}
