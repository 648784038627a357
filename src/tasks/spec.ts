import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Retention } from "./retention.ts";

/** Whether a hash is held as long as its row exists, or only until the task ends. */
export type Dedup = "retained" | "active";

/** `In` is what is stored, `Out` what a handler gets. Durations are in milliseconds. */
interface TaskSpec<In, Out> {
  readonly queue: string;
  readonly schema: StandardSchemaV1<In, Out>;
  readonly encode: ((payload: Out) => In) | undefined;
  readonly pollInterval: number;
  readonly maxRetries: number;
  readonly retryDelay: number;
  readonly leaseDuration: number;
  readonly finalizeBuffer: number;
}

export interface JobSpec<In = any, Out = In> extends TaskSpec<In, Out> {
  readonly kind: "job";
  readonly dedup: Dedup;
  readonly retain: Retention;
  readonly hash: ((payload: Out) => string | null | undefined) | undefined;
}

export interface TickerSpec<In = any, Out = In, Columns = {}> extends TaskSpec<In, Out> {
  readonly kind: "ticker";
  readonly key: string;
  readonly initialPayload: In;
  readonly every: number;
  readonly columns: Columns;
}

export type Spec<In = any, Out = In> = JobSpec<In, Out> | TickerSpec<In, Out, any>;

/**
 * What the handler of a spec gets as payload.
 *
 * @example
 * const sendMail: Handler<PayloadOf<typeof sendReceipt>> = async (job) => { … };
 */
export type PayloadOf<S extends Spec> = S extends Spec<any, infer Out> ? Out : never;
