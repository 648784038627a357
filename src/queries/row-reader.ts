import { Column, is, SQL } from "drizzle-orm";

/** What a query of Drizzle 0.45 knows of its result; one of 1.0 has none of it. */
interface Reading {
  fields?: readonly Field[];
  customResultMapper?: ((rows: readonly (readonly unknown[])[]) => unknown[]) | undefined;
}

interface Field {
  readonly path: readonly string[];
  readonly field: Column | SQL | { readonly sql: SQL };
}

interface Decoder {
  mapFromDriverValue(value: unknown): unknown;
}

/**
 * Has the rows of a query without joins read by decoders that are looked up once: Drizzle 0.45 looks them up for each value
 * of each row, which takes half of the time that a large claim costs the process.
 */
export function readingFast<Q extends object>(query: Q & Reading): Q {
  const { fields } = query;
  if (!fields || !("customResultMapper" in query) || query.customResultMapper) return query;
  const readers = fields.map(({ path, field }) => ({ decoder: decoderOf(field), name: path.at(-1)!, path }));
  // A copy of all that is null takes the memory it needs at once; an object that grows takes it three times.
  const blank: Record<string, unknown> = {};
  for (const { name, path } of readers) if (path.length === 1) blank[name] = null;
  query.customResultMapper = (rows) =>
    rows.map((row) => {
      const result = { ...blank };
      for (let i = 0; i < readers.length; i++) {
        const { decoder, name, path } = readers[i]!;
        const value = row[i];
        const node = path.length === 1 ? result : nodeOf(result, path);
        node[name] = value === null ? null : decoder.mapFromDriverValue(value);
      }
      return result;
    });
  return query;
}

function decoderOf(field: Field["field"]): Decoder {
  if (is(field, Column)) return field;
  // Drizzle keeps it from its types.
  return ((is(field, SQL) ? field : field.sql) as unknown as { decoder: Decoder }).decoder;
}

function nodeOf(result: Record<string, unknown>, path: readonly string[]): Record<string, unknown> {
  let node = result;
  for (const name of path.slice(0, -1)) {
    node[name] ??= {};
    node = node[name] as Record<string, unknown>;
  }
  return node;
}
