import type { Pgqueue } from "../queries/pgqueue.ts";
import type { Db } from "../queries/statement.ts";
import type { Spec } from "../tasks/spec.ts";
import type { WorkerEvent } from "./event.ts";
import type { Handler } from "./handler.ts";
import type { NextTurn } from "./turn.ts";

/** What every part of one worker shares. */
export interface Host {
  readonly db: Db;
  readonly pgqueue: Pgqueue<any, any>;
  readonly workerId: string;
  /** Fires when the worker is told to stop: nothing new is begun. */
  readonly closing: AbortSignal;
  /** Fires when it has stopped: nothing more is sent. */
  readonly closed: AbortSignal;
  readonly nextTurn: NextTurn;
  report(event: WorkerEvent): void;
}

/** A spec and what runs its tasks. */
export interface Registration {
  readonly spec: Spec;
  readonly handler: Handler<any, any>;
}
