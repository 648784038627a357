import type { Ability } from "./ability.ts";
import type { Subject } from "./subject.ts";

/** One promise of pgqueue, checked on one driver. */
export interface Case {
  readonly name: string;
  /** What the driver must be able to do; where it cannot, the case is skipped. */
  readonly needs?: readonly Ability[];
  /** Rejects where the promise is broken. */
  run(subject: Subject): Promise<void>;
}
