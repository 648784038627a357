import { Backoff } from "./backoff.ts";
import { type Ears, type Listening, listenOf } from "./channel.ts";
import type { Host } from "./host.ts";
import { endsWithin, firing } from "./pause.ts";

const longestUnlisten = 1_000;
/** A connection that lasted less is tried again ever later. */
const worthTrying = 5_000;

/** Listens for work that is announced until the worker closes, through whatever happens to the connection. */
export async function keepListening(host: Host, ears: Ears): Promise<void> {
  const listen = listenOf(host.db);
  if (!listen) return;
  const backoff = new Backoff();
  const closed = firing(host.closing);
  while (!host.closing.aborted) {
    try {
      const beginning = listen(ears);
      await Promise.race([beginning, closed]);
      if (!host.closing.aborted) {
        const since = performance.now();
        await Promise.race([lossOf(beginning), closed]).finally(() => {
          if (performance.now() - since >= worthTrying) backoff.reset();
        });
      }
      // A server that is away must not keep the worker from stopping.
      const ended = beginning.then(({ stop }) => stop());
      await endsWithin(longestUnlisten, ended);
    } catch (error) {
      host.report({ type: "error", during: "listen", error });
      await backoff.wait(host.closing);
    }
  }
}

/** Rejects when the connection is lost. */
async function lossOf(beginning: Promise<Listening>): Promise<never> {
  const { lost } = await beginning;
  return lost ?? new Promise(() => {});
}
