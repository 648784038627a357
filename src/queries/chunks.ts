import type { NewTask } from "./enqueue-options.ts";
import type { Enqueued } from "./enqueued.ts";

const mostRows = 5_000;
const mostCharacters = 8_000_000;

/** A row to be inserted, on behalf of one item or of all items of its hash. */
export interface Row {
  readonly hash: string | null;
  /** What it sets beside its payload: further members of its document. */
  readonly members: string;
  readonly task: NewTask;
  /** The user's own columns that it sets. */
  readonly extra: readonly string[];
  enqueued?: Enqueued;
}

/**
 * Rows of one statement have a hash, or have none, and set the same columns. All callers insert their hashes in the same
 * order, so that overlapping batches wait for each other without a deadlock.
 */
export function chunksOf(rows: readonly Row[]): Row[][] {
  const chunks: Row[][] = [];
  let characters = 0;
  for (const row of sorted(rows)) {
    const chunk = chunks.at(-1);
    characters += lengthOf(row);
    if (chunk && chunk.length < mostRows && characters <= mostCharacters && areAlike(chunk[0]!, row)) chunk.push(row);
    else {
      chunks.push([row]);
      characters = lengthOf(row);
    }
  }
  return chunks;
}

function lengthOf({ task, members }: Row): number {
  return task.payload.length + members.length;
}

function areAlike(a: Row, b: Row): boolean {
  return (a.hash === null) === (b.hash === null) && (a.extra === b.extra || a.extra.join() === b.extra.join());
}

function sorted(rows: readonly Row[]): readonly Row[] {
  const [first] = rows;
  if (!first || rows.every((row) => row.hash === null && areAlike(first, row))) return rows;
  return rows.toSorted((a, b) => compare(a.hash ?? "", b.hash ?? "") || compare(a.extra.join(), b.extra.join()));
}

/** By code point, as Postgres orders by collation "C"; by `<` it would be by unit of UTF-16. */
function compare(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    if (a[i] === b[i]) continue;
    const [one, other] = [a.codePointAt(i)!, b.codePointAt(i)!];
    // The second half of a pair: its first half was equal, and so is the order of the whole.
    return one - other;
  }
  return a.length - b.length;
}
