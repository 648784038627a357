import { isConflict, isUniqueViolation } from "./fault.ts";
import { pause } from "./pause.ts";

const mostTries = 20;
const longestPause = 20;

/**
 * Runs an action again when it met a concurrent one. Not for ever: slots may be held meanwhile, and a unique index of the
 * user's may refuse each time.
 */
export async function throughConflicts<T>(closing: AbortSignal, action: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await action();
    } catch (error) {
      if (!(isConflict(error) || isUniqueViolation(error)) || tries === mostTries || closing.aborted) throw error;
      await pause(Math.random() * longestPause, closing);
    }
  }
}
