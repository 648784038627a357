import { type SQL, sql } from "drizzle-orm";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { isTimeGiven } from "./clock.ts";
import { readingFast } from "./row-reader.ts";
import { type DrizzleDb, isTransaction, uncached } from "./statement.ts";

/** The value of a parameter, or what gives it anew for each execution. */
export type Value = string | number | null | (() => string);

/** What a builder of Drizzle has in both majors, beside what its type says. */
interface Builder {
  execute(...args: unknown[]): Promise<unknown>;
  readonly authToken?: unknown;
  _prepare?(): Query;
}

interface Query {
  execute(values: Readonly<Record<string, unknown>>, authToken?: unknown): Promise<unknown>;
}

/** By binding, database and spec, and then by shape. */
const made = new WeakMap<Binding, WeakMap<DrizzleDb, WeakMap<Spec, Map<string, Query>>>>();

/**
 * A builder like any other, except that awaited on a database it sends a text that was made once: Drizzle takes longer to
 * make that of a claim than Postgres to claim a few tasks. Not by Drizzle's `prepare`, which has the server keep the plan
 * from when the table was empty.
 *
 * @param shape whatever decides the text, beside the spec; null where it is not to be kept
 * @param build is given what stands for each value
 */
export function builtOnce<Name extends string, B extends object>(
  { binding, handle, spec, shape }: { binding: Binding; handle: DrizzleDb; spec: Spec; shape: string | null },
  values: Readonly<Record<Name, Value>>,
  build: (parameters: Readonly<Record<Name, SQL>>) => B,
): B {
  const builder = build(mapped(values, (value) => asGiven(value)));
  if (shape === null || isTransaction(handle) || isTimeGiven()) return builder;

  const own = builder as B & Builder;
  const { execute } = own;
  own.execute = async (...args) => {
    // Made outside of a test's time and awaited inside of it: a text that is kept must not have that moment in it.
    if (isTimeGiven()) return execute.apply(own, args);
    const ofDatabase = entry(made, binding, () => new WeakMap<DrizzleDb, WeakMap<Spec, Map<string, Query>>>());
    const ofSpec = entry(ofDatabase, handle, () => new WeakMap<Spec, Map<string, Query>>());
    const ofShape = entry(ofSpec, spec, () => new Map<string, Query>());
    const query =
      ofShape.get(shape) ?? prepared(uncached(build(mapped(values, (_, name) => sql`${sql.placeholder(name)}`))));
    if (!query) return execute.apply(own, args);
    ofShape.set(shape, query);
    return query.execute(
      mapped(values, (value) => (typeof value === "function" ? value() : value)),
      own.authToken,
    );
  };
  return own;
}

/** As its own `execute` does. */
function prepared(builder: Builder | object): Query | undefined {
  const query = "_prepare" in builder ? builder._prepare?.() : undefined;
  return query && readingFast(query);
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
