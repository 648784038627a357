import { type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { OptionsError } from "../errors.ts";
import type { Spec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { type Claim, checkToken, isToken } from "./claimed.ts";
import { fromLines } from "./documents.ts";
import { checkSpec } from "./of-spec.ts";
import { type DrizzleDb, lockName } from "./statement.ts";

/** Claims as parameters, as text, which binds the same on every driver: a list of each part. */
export interface Listed<T = string> {
  readonly ids: T;
  readonly tokens: T;
  readonly counts: T;
}

/** Claims as parameters where all have the same token and count, as most that were claimed together have. */
export interface Uniform<T = string> {
  readonly ids: T;
  readonly token: T;
  readonly count: T;
}

export function partsOf(claims: readonly Claim[]): Listed | Uniform {
  const [first] = claims;
  const isUniform = first && claims.every(({ token, claims }) => token === first.token && claims === first.claims);
  return isUniform ? { ids: idsOf(claims), token: first.token, count: String(first.claims) } : listsOf(claims);
}

export function listsOf(claims: readonly Claim[]): Listed {
  return {
    ids: idsOf(claims),
    tokens: `{${claims.map(({ token }) => token)}}`,
    counts: `{${claims.map(({ claims }) => claims)}}`,
  };
}

export function idsOf(claims: readonly Claim[]): string {
  return `{${claims.map(({ id }) => id)}}`;
}

export type Parts = (Listed<SQL | string> & { readonly documents?: SQL }) | Uniform<SQL | string>;

/**
 * Those of the tasks whose claim still stands, locked. The fence is the id, the token and the number of claims; a status
 * beside it would let the planner take the partial lease index, which fills with dead entries. Rows that another
 * transaction holds are skipped, so that no statement over many rows ever waits; `wait` is for a single task.
 *
 * @param parts what `partsOf` says; or lists, and the lines of a document for each, which is `given.doc` in `columns`
 * @param columns what else to select of each, for example `given.doc ->> 'status' as status`
 * @param lock "update" for rows that are to be deleted: what refers to them is waited for, or skipped
 */
export function held(
  { tasks }: Binding,
  handle: DrizzleDb,
  spec: Spec,
  parts: Parts,
  {
    columns,
    lock = "no key update",
    wait = false,
  }: { columns?: SQL | undefined; lock?: "update" | "no key update"; wait?: boolean } = {},
) {
  const source =
    "token" in parts
      ? sql`${tasks} where ${tasks.queue} = ${spec.queue} and ${isOneOf(tasks.id, parts.ids)}
      and ${tasks.claimToken} = ${parts.token}::text::uuid and ${tasks.claims} = ${parts.count}::text::int`
      : sql`${given(parts)} join ${tasks} on ${tasks.queue} = ${spec.queue} and ${tasks.id} = given.id
      and ${tasks.claimToken} = given.token and ${tasks.claims} = given.claims`;
  return handle.$with("held", { id: sql<number>`id` }).as(sql`
    select ${tasks.id} as id ${columns ? sql`, ${columns}` : sql``} from ${source}
    for ${sql.raw(lock)} of ${lockName(tasks)} ${wait ? sql`` : sql`skip locked`}`);
}

/** By primary key: how many there are the planner does not see, and so expects a few. */
export function isOneOf(id: PgColumn, ids: SQL | string): SQL {
  return sql`${id} = any((select ${ids}::text::bigint[])::bigint[])`;
}

/**
 * As rows. From sub-selects the planner does not see how many there are, expects a few, and looks each up by primary key
 * whatever the statistics say; for hundreds it reads a table of some ten thousand rows from end to end.
 */
function given({ ids, tokens, counts, documents }: Listed<SQL | string> & { readonly documents?: SQL }): SQL {
  const parts = sql`(select ${ids}::text::bigint[]), (select ${tokens}::text::uuid[]), (select ${counts}::text::int[])`;
  if (!documents) return sql`unnest(${parts}) as given(id, token, claims)`;
  return sql`(select id, token, claims, line::jsonb as doc
    from unnest(${parts}, (select ${fromLines(documents)})) as listed(id, token, claims, line) offset 0) as given`;
}

/**
 * The held rows, by primary key: as an array, since a join might scan the table.
 *
 * @param which of them, as a `where`
 */
export function isHeld({ tasks }: Binding, spec: Spec, which: SQL = sql``): SQL {
  return sql`${tasks.queue} = ${spec.queue} and ${tasks.id} = any(array(select id from held ${which}))`;
}

/**
 * The claims as a list.
 *
 * @throws OptionsError when a task is of another queue, was not claimed, or is named twice.
 */
export function checkClaims(
  call: string,
  list: string,
  spec: Spec,
  given: Claim | readonly Claim[],
  { repeats = false } = {},
): readonly Claim[] {
  checkSpec(call, spec);
  const claims: readonly Claim[] = Array.isArray(given) ? given : [given];
  const ids = new Set<number>();
  for (let i = 0; i < claims.length; i++) {
    const claim = claims[i]!;
    if (isClaim(spec, claim) && (repeats || !ids.has(claim.id))) ids.add(claim.id);
    else refuseClaim(`${call}.${list}[${i}]`, spec, claim);
  }
  return claims;
}

function keyOf(spec: Spec): string | null {
  return spec.kind === "ticker" ? spec.key : null;
}

/** All that `refuseClaim` would name a fault of, without a text of where it is: there are thousands a second. */
function isClaim(spec: Spec, claim: Claim): boolean {
  return (
    Boolean(claim) &&
    Number.isSafeInteger(claim.id) &&
    Number.isInteger(claim.claims) &&
    isToken(claim.token) &&
    claim.queue === spec.queue &&
    (claim.key ?? null) === keyOf(spec)
  );
}

function refuseClaim(field: string, spec: Spec, claim: Claim): never {
  if (!claim || !Number.isSafeInteger(claim.id) || !Number.isInteger(claim.claims)) {
    throw new OptionsError(field, claim, "a task that claim returned");
  }
  checkToken(`${field}.token`, claim.token);
  if (claim.queue !== spec.queue) throw new OptionsError(`${field}.queue`, claim.queue, `"${spec.queue}"`);
  const key = keyOf(spec);
  if ((claim.key ?? null) !== key) {
    throw new OptionsError(`${field}.key`, claim.key, key === null ? "a job" : `"${key}"`);
  }
  throw new OptionsError(`${field}.id`, claim.id, "each task once");
}
