import { OptionsError } from "../errors.ts";

declare const held: unique symbol;

/** Proof of a claim: `claim` gives one, or takes one that `newClaimToken` made. */
export type ClaimToken = string & { readonly [held]: true };

/** A task that this process holds, as `claim` returns it. */
export interface Claimed<Payload = unknown, Columns = {}> {
  readonly id: number;
  readonly queue: string;
  /** A ticker's key; null for a job. */
  readonly key: string | null;
  /** Which try this is, from 1. */
  readonly attempt: number;
  /** The task's own override of the spec's `maxRetries`. */
  readonly maxRetries: number | null;
  /** 0 runs first, 9 last. */
  readonly priority: number;
  readonly runAt: Date;
  /** `runAt` to the microsecond, as Postgres writes it: for the option `after` of the next claim. */
  readonly exactRunAt: string;
  readonly createdAt: Date;
  readonly meta: Record<string, unknown> | null;
  /** The payload as stored: the input of the spec's schema. `parsePayload` gives its output. */
  payload: Payload;
  readonly columns: Columns;
  readonly token: ClaimToken;
  /** How often this row was ever claimed; with the token, the fence of this claim. */
  readonly claims: number;
  /** Whether the try before this one was ended by `reap`: its process may have died of this task. */
  readonly crashed: boolean;
}

/** The parts of a claim that prove it. */
export type Claim = Pick<Claimed, "id" | "queue" | "key" | "token" | "claims">;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isToken(token: unknown): token is ClaimToken {
  return typeof token === "string" && uuid.test(token);
}

/** @throws OptionsError when it is not a claim token. */
export function checkToken(field: string, token: unknown): void {
  if (!isToken(token)) throw new OptionsError(field, token, "a token of newClaimToken");
}

/** A token of the claimer's own making, so that a claim whose reply is lost can still be given back. */
export function newClaimToken(): ClaimToken {
  return crypto.randomUUID() as ClaimToken;
}
