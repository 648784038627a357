/**
 * Ends this measured process, so that the measurement fails with what happened. Not by throwing at once: a package would
 * catch what its own events' listeners or a handler throw, and go on.
 */
export function failProcess(reason: string, cause: unknown): void {
  setImmediate(() => {
    throw new Error(reason, { cause });
  });
}
