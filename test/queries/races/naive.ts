import type postgres from "postgres";
import type { Claim } from "../../../src/index.ts";

// Statements as one would write them first. They show that the tests beside them can fail.

const fences = (claims: readonly Claim[]) => JSON.stringify(claims.map(({ id, token }) => ({ id, token })));

/** Locks rows in the order of the document, and waits for each. */
export const extendNaively = (sql: postgres.Sql, claims: readonly Claim[]) => sql`
  update pgqueue_tasks set lease_until = greatest(lease_until, statement_timestamp() + interval '5 min')
  from jsonb_to_recordset(${fences(claims)}::text::jsonb) as v(id bigint, token uuid)
  where pgqueue_tasks.id = v.id and claim_token = v.token returning pgqueue_tasks.id`;

export const finalizeNaively = (sql: postgres.Sql, claims: readonly Claim[]) => sql`
  update pgqueue_tasks set status = 'completed', claim_token = null, lease_until = null
  from jsonb_to_recordset(${fences(claims)}::text::jsonb) as v(id bigint, token uuid)
  where pgqueue_tasks.id = v.id and claim_token = v.token returning pgqueue_tasks.id`;

export const enqueueNaively = (sql: postgres.Sql, queue: string, hashes: readonly string[]) => sql`
  insert into pgqueue_tasks (queue, hash, hash_held, payload)
  select ${queue}, hash, true, '1' from jsonb_array_elements_text(${JSON.stringify(hashes)}::text::jsonb) as hash
  on conflict (queue, hash) where hash_held do nothing returning id`;
