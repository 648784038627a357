import type { PGlite, QueryOptions, Results } from "@electric-sql/pglite";

type Query = (text: string, params?: unknown[], options?: QueryOptions) => Promise<Results>;

/** What PGlite keeps to itself, in the versions that have it. */
interface Inside {
  _runExclusiveTransaction?<T>(run: () => Promise<T>): Promise<T>;
  _runExclusiveQuery?<T>(run: () => Promise<T>): Promise<T>;
}

/** Postgres keeps each for as long as the connection lasts. */
const most = 500;

/** A plan whose result has changed, and a statement that was discarded. */
const outdated = new Set(["0A000", "26000"]);

/** What may be prepared. All else may change what a prepared statement would do, such as the type of a parameter. */
const isPreparable = /^\s*(with|select|insert|update|delete)\b/i;
const beginsTransaction = /^\s*(begin|start\s+transaction)\b/i;
const endsTransaction = /^\s*(commit|end|rollback(?!\s+to)|abort)\b/i;

/** A client's own `query` and `exec`, to be called in their place. */
export type PreparedQuery = Pick<PGlite, "query" | "exec">;

/**
 * `client.query`, with statements that are prepared once: a test sends few texts, each many times, and to parse and plan one
 * takes PGlite longer than to run it. What is sent inside a transaction goes the usual way.
 */
export async function preparedQuery(client: PGlite): Promise<PreparedQuery> {
  const { parse, protocol } = await import("@electric-sql/pglite");
  // Only its types hide them.
  const { _runExclusiveTransaction, _runExclusiveQuery } = client as unknown as Inside;
  const plain: Query = (text, params, options) => client.query(text, params as any[], options);
  const exec: PGlite["exec"] = (...args) => client.exec(...args);
  if (!_runExclusiveTransaction || !_runExclusiveQuery || !parse || !protocol) {
    return { query: plain as PGlite["query"], exec };
  }

  // Else the first five runs of a statement are planned one by one.
  await client.exec("set plan_cache_mode = force_generic_plan");
  let count = 0;
  let isInTransaction = false;
  const prepared = new Map<string, { name: string; types: number[] }>();
  /** To be closed with the next that is prepared. */
  const forgotten: string[] = [];
  const send = async (...messages: Uint8Array[]) => (await client.execProtocol(concat(messages))).messages;
  const { serialize } = protocol;

  const forget = (texts: Iterable<string>) => {
    for (const text of texts) {
      const statement = prepared.get(text);
      if (statement) forgotten.push(statement.name);
      prepared.delete(text);
    }
  };

  const prepare = async (text: string) => {
    const name = `pgqueue_${++count}`;
    const described = await send(
      ...forgotten.splice(0).map((old) => serialize.close({ type: "S", name: old })),
      serialize.parse({ name, text }),
      serialize.describe({ type: "S", name }),
      serialize.sync(),
    );
    const statement = { name, types: parse.parseDescribeStatementResults(described) };
    prepared.set(text, statement);
    return statement;
  };

  const noteEffects = (text: string) => {
    if (beginsTransaction.test(text)) isInTransaction = true;
    if (endsTransaction.test(text)) isInTransaction = false;
    if (!isPreparable.test(text)) forget(prepared.keys());
  };

  const query: Query = async (text, params = [], options) => {
    noteEffects(text);
    const isKnown = prepared.has(text) || prepared.size < most;
    const isPlain = options?.serializers || options?.paramTypes || options?.blob || options?.onNotice;
    if (!isKnown || isInTransaction || isPlain || !isPreparable.test(text)) return plain(text, params, options);
    try {
      return (await _runExclusiveTransaction.call(client, () =>
        _runExclusiveQuery.call(client, async () => {
          const { name, types } = prepared.get(text) ?? (await prepare(text));
          const values = params.map((value, i) => {
            if (value === null || value === undefined) return null;
            return client.serializers[types[i]!]?.(value) ?? String(value);
          });
          const messages = await send(
            serialize.bind({ statement: name, values }),
            serialize.describe({ type: "P" }),
            serialize.execute({}),
            serialize.sync(),
          );
          // Given in `options`, they would be copied for each statement, all of a hundred.
          const parsers = Object.assign(Object.create(client.parsers), options?.parsers);
          const { parsers: _, ...rest } = options ?? {};
          return parse.parseResults(messages, parsers, rest)[0] as Results;
        }),
      )) as Results;
    } catch (error) {
      if (!outdated.has(String((error as { code?: unknown }).code)))
        throw Object.assign(error as object, { query: text, params });
      forget([text]);
      return plain(text, params, options);
    }
  };
  return {
    query: query as PGlite["query"],
    exec: (text, options) => {
      noteEffects(text);
      forget(prepared.keys());
      return exec(text, options);
    },
  };
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
