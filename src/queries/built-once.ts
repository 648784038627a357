import { type SQL, sql } from "drizzle-orm";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { isTimeGiven } from "./clock.ts";
import { driverOf } from "./driver.ts";
import { readingFast } from "./row-reader.ts";
import { type DrizzleDb, isTransaction, uncached } from "./statement.ts";

/** The value of a parameter, or what gives it anew for each execution. */
export type Value = string | number | null | (() => string);

/** What a builder of Drizzle has in both majors, beside what its type says. */
interface Builder {
  execute(...args: unknown[]): Promise<unknown>;
  readonly authToken?: unknown;
  _prepare?(name?: string): PreparedQuery;
}

interface PreparedQuery {
  execute(values: Readonly<Record<string, unknown>>, authToken?: unknown): Promise<unknown>;
}

type Query = (values: Readonly<Record<string, unknown>>) => Promise<unknown>;

interface Shape {
  readonly binding: Binding;
  readonly handle: DrizzleDb;
  readonly spec: Spec;
  readonly shape: string | null;
  readonly keepsPlan?: boolean;
}

type Build<Name extends string, B> = (parameters: Readonly<Record<Name, SQL>>) => B;

/** By binding, database and spec, and then by shape. */
const made = new WeakMap<Binding, WeakMap<DrizzleDb, WeakMap<Spec, Map<string, Query>>>>();

/**
 * A builder like any other, except that awaited on a database it sends a text that was made once: Drizzle takes longer to
 * make that of a claim than Postgres to claim a few tasks. Not by Drizzle's `prepare`, which has the server keep the plan
 * from when the table was empty; save where `keepsPlan` says that the caller sees to that, and the driver is postgres.js: it
 * sends what is not prepared in two round trips, prepares anew what a pooler has lost, and can be told never to prepare.
 *
 * @param shape whatever decides the text, beside the spec; null where it is not to be kept
 * @param build is given what stands for each value
 */
export function builtOnce<Name extends string, B extends object>(
  shape: Shape,
  values: Readonly<Record<Name, Value>>,
  build: Build<Name, B>,
): B {
  const builder = build(mapped(values, (value) => asGiven(value)));
  if (!canBeKept(shape)) return builder;

  const own = builder as B & Builder;
  const { execute } = own;
  own.execute = async (...args) => {
    // Made outside of a test's time and awaited inside of it: a text that is kept must not have that moment in it.
    const query = isTimeGiven() ? undefined : keptQuery(shape, values, build);
    return query ? query(given(values)) : execute.apply(own, args);
  };
  return own;
}

/** What awaiting `builtOnce` gives, for a caller who needs no builder: it costs as much as all else of a single insert. */
export async function executedOnce<Name extends string, Rows>(
  shape: Shape,
  values: Readonly<Record<Name, Value>>,
  build: Build<Name, PromiseLike<Rows>>,
): Promise<Rows> {
  const query = canBeKept(shape) ? keptQuery(shape, values, build) : undefined;
  return query ? ((await query(given(values))) as Rows) : await build(mapped(values, (value) => asGiven(value)));
}

function canBeKept({ shape, handle }: Shape): boolean {
  return shape !== null && !isTransaction(handle) && !isTimeGiven();
}

function keptQuery<Name extends string>(
  { binding, handle, spec, shape, keepsPlan = false }: Shape,
  values: Readonly<Record<Name, Value>>,
  build: Build<Name, object>,
): Query | undefined {
  const ofDatabase = entry(made, binding, () => new WeakMap<DrizzleDb, WeakMap<Spec, Map<string, Query>>>());
  const ofSpec = entry(ofDatabase, handle, () => new WeakMap<Spec, Map<string, Query>>());
  const ofShape = entry(ofSpec, spec, () => new Map<string, Query>());
  const key = `${shape}${keepsPlan ? " prepared" : ""}`;
  const query = ofShape.get(key) ?? prepared(uncached(build(mapped(values, placeholder))), handle, keepsPlan);
  if (query) ofShape.set(key, query);
  return query;
}

function given(values: Readonly<Record<string, Value>>): Record<string, unknown> {
  return mapped(values, (value) => (typeof value === "function" ? value() : value));
}

/** As its own `execute` does. */
function prepared(builder: Builder | object, handle: DrizzleDb, keepsPlan: boolean): Query | undefined {
  // What the name is does not matter to postgres.js, which gives its own.
  const name = keepsPlan && driverOf(handle) === "postgres.js" ? "pgqueue" : undefined;
  const preparing = "_prepare" in builder ? builder._prepare?.(name) : undefined;
  if (!preparing) return undefined;
  const query = readingFast(preparing);
  // The token of Neon's driver is the same for all that one handle makes.
  const { authToken } = builder as Builder;
  return (values) => query.execute(values, authToken);
}

function placeholder(_: Value, name: string): SQL {
  return sql`${sql.placeholder(name)}`;
}

/** Drizzle calls a parameter's encoder at each await. */
function asGiven(value: Value): SQL {
  return typeof value === "function" ? sql`${sql.param("", { mapToDriverValue: value })}` : sql`${value}`;
}

function mapped<Name extends string, From, To>(
  values: Readonly<Record<Name, From>>,
  map: (value: From, name: string) => To,
): Record<Name, To> {
  // Object.entries forgets what the names are.
  return Object.fromEntries(Object.entries<From>(values).map(([name, value]) => [name, map(value, name)])) as Record<
    Name,
    To
  >;
}

function entry<K extends object, V>(map: WeakMap<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known) return known;
  const value = make();
  map.set(key, value);
  return value;
}
