import type { ClaimOptions } from "../queries/claim.ts";
import { type Claimed, type ClaimToken, newClaimToken } from "../queries/claimed.ts";
import { BatchSize, largestBatch } from "./batch-size.ts";
import { isCut, isTimeout } from "./fault.ts";
import type { Host, Registration } from "./host.ts";
import { KeptPlan } from "./kept-plan.ts";
import { Watermark } from "./watermark.ts";

/** More only as a backlog is found: nothing is known yet of how large its payloads are. */
const first = 100;

/** A claim whose reply never came: its tasks may be held by nobody. */
interface UnansweredClaim {
  readonly token: ClaimToken;
  /** When its lease is over and the reaper has it, as `performance.now()`. */
  readonly endsAt: number;
  /** Whether its tasks were released once; the claim may yet be committed after that. */
  wasReleased: boolean;
}

/** Claims tasks of one spec, and gives back what it claimed without learning it. */
export class Claimer {
  readonly #host: Host;
  readonly #registration: Registration;
  readonly #watermark = new Watermark();
  readonly #keptPlan = new KeptPlan();
  readonly #size = new BatchSize(largestBatch, first);
  #unanswered: UnansweredClaim[] = [];

  constructor(host: Host, registration: Registration) {
    this.#host = host;
    this.#registration = registration;
  }

  /** Claims `wanted` tasks or fewer; none only when nothing is due. */
  async claim(wanted: number, options: { crashed?: boolean } = {}): Promise<{ tasks: Claimed[]; sentAt: number }> {
    if (this.#unanswered.some(({ wasReleased }) => !wasReleased)) await this.recover();
    const limit = Math.min(wanted, this.#size.current);
    const after = this.#registration.spec.kind === "job" ? this.#watermark.next() : [];
    const plan = this.#keptPlan.wanted;
    const claimed = await this.#send({ ...options, limit, after, plan });
    const took = performance.now() - claimed.sentAt;
    const tasks = claimed.tasks.length;
    const isFilled = tasks === limit;
    this.#size.succeeded(tasks);
    this.#keptPlan.answered({ took, plan, tasks, isFilled });
    this.#watermark.passed(claimed.tasks, { after, limit, sentAt: claimed.sentAt });
    return claimed.tasks.length > 0 || after.length === 0 ? claimed : this.claim(wanted, options);
  }

  async #send(options: ClaimOptions): Promise<{ tasks: Claimed[]; sentAt: number }> {
    const { db, pgqueue, workerId } = this.#host;
    const { spec } = this.#registration;
    const token = newClaimToken();
    const sentAt = performance.now();
    try {
      return { tasks: await pgqueue.claim(db, spec, { ...options, workerId, token, started: false }), sentAt };
    } catch (error) {
      // It may have been canceled for being slow.
      this.#keptPlan.failed();
      if (isTimeout(error)) this.#size.failed(options.limit);
      if (isCut(error)) {
        this.#unanswered.push({ token, endsAt: performance.now() + spec.leaseDuration, wasReleased: false });
      }
      throw error;
    }
  }

  /** Tasks that were claimed before are due again: the next claim looks for them. */
  rescan(): void {
    this.#watermark.reset();
  }

  /**
   * Releases by token: at once before the next claim, and again at each round of the reaper until the lease is over, since
   * the server may have been still at work on the claim when the connection was cut.
   */
  async recover(): Promise<void> {
    const { db, pgqueue } = this.#host;
    this.#unanswered = this.#unanswered.filter(({ endsAt }) => endsAt > performance.now());
    for (const unanswered of this.#unanswered) {
      const released = await pgqueue.releaseClaim(db, this.#registration.spec, unanswered.token);
      unanswered.wasReleased = true;
      if (released.length > 0) this.rescan();
    }
  }
}
