import { AssertionError } from "node:assert";
import { inspect } from "node:util";
import * as v from "valibot";
import type { Db } from "../queries/statement.ts";
import type { TaskStatus } from "../schema/columns.ts";
import { checkOptions } from "../tasks/options.ts";
import type { Spec } from "../tasks/spec.ts";
import { type EnqueuedOptions, type EnqueuedTask, enqueued } from "./enqueued.ts";
import { type Mismatch, mismatches } from "./matching.ts";

type Deep<T> = T extends string
  ? T | RegExp
  : T extends Date
    ? T
    : T extends readonly (infer Item)[]
      ? readonly Deep<Item>[]
      : T extends object
        ? { [K in keyof T]?: Deep<T[K]> | undefined }
        : T;

/** What is looked for in a task. What is left out may be anything; of an object only the members that are named count. */
export interface TaskPattern<Payload = unknown> {
  payload?: Deep<Payload> | undefined;
  status?: TaskStatus | undefined;
  priority?: number | undefined;
  hash?: string | RegExp | null | undefined;
  maxRetries?: number | null | undefined;
  attempt?: number | undefined;
  runAt?: Date | undefined;
  meta?: Record<string, unknown> | null | undefined;
  output?: unknown;
  columns?: Record<string, unknown> | undefined;
}

const taskPattern = v.strictObject({
  payload: v.optional(v.unknown()),
  status: v.optional(v.unknown()),
  priority: v.optional(v.unknown()),
  hash: v.optional(v.unknown()),
  maxRetries: v.optional(v.unknown()),
  attempt: v.optional(v.unknown()),
  runAt: v.optional(v.unknown()),
  meta: v.optional(v.unknown()),
  output: v.optional(v.unknown()),
  columns: v.optional(v.unknown()),
});

/** @throws OptionsError when it names what no task has: it would be found in none, and refuted of all. */
function checkPattern(call: string, pattern: unknown): void {
  checkOptions(`${call}.pattern`, taskPattern, pattern);
}

/** What is named, without what is undefined. */
function named<P extends object>(pattern: P): P {
  return Object.fromEntries(Object.entries(pattern).filter(([, value]) => value !== undefined)) as P;
}

const mostShown = 5;

/**
 * Asserts that a task of the spec was enqueued that is as `pattern` says, and resolves to the first. Matchers of your test
 * framework may stand in it, such as `expect.any(Number)`.
 *
 * @throws AssertionError that says of the nearest tasks in what they differ.
 * @throws OptionsError, ConflictError as `enqueued`; OptionsError also when the pattern names what no task has, or has a matcher
 * that cannot be asked, such as those of `bun:test`.
 * @example
 * await expectEnqueued(db, sendReceipt, { payload: { orderId: 7 }, priority: 5 });
 */
export async function expectEnqueued<In>(
  db: Db,
  spec: Spec<In, any>,
  pattern: TaskPattern<NoInfer<In>> = {},
  options: EnqueuedOptions = {},
): Promise<EnqueuedTask<In>> {
  checkPattern("expectEnqueued", pattern);
  const tasks = await enqueued(db, spec, options);
  const compared = tasks.map((task) => ({ task, faults: mismatches(named(pattern), task) }));
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
 * @throws OptionsError, ConflictError as `enqueued`; OptionsError also when the pattern names what no task has, or has a matcher
 * that cannot be asked, such as those of `bun:test`.
 * @example
 * await refuteEnqueued(db, sendReceipt, { payload: { orderId: 7 } });
 */
export async function refuteEnqueued<In>(
  db: Db,
  spec: Spec<In, any>,
  pattern: TaskPattern<NoInfer<In>> = {},
  options: EnqueuedOptions = {},
): Promise<void> {
  checkPattern("refuteEnqueued", pattern);
  const all = await enqueued(db, spec, options);
  const tasks = all.filter((task) => mismatches(named(pattern), task).length === 0);
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
