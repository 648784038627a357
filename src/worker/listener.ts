import { channel } from "../queries/notify.ts";
import type { Db } from "../queries/statement.ts";
import { Backoff } from "./backoff.ts";
import type { Host } from "./host.ts";
import { endsWithin, firing } from "./pause.ts";

type StopListening = () => Promise<void>;
/** `onNotified` gets the payload, `onListening` is called at each (re)connection. */
type Listen = (onNotified: (payload: string) => void, onListening: () => void) => Promise<StopListening>;

const longestUnlisten = 1_000;

/**
 * Wakes the worker when work is announced, until it closes, over a connection that the driver keeps: postgres-js, which
 * connects again by itself once it has listened, and PGlite. Other drivers are left to polling. `onSilence` is called
 * whenever announcements may have been missed.
 */
export async function keepListening(
  host: Host,
  { onQueue, onSilence }: { onQueue: (queue: string) => void; onSilence: () => void },
): Promise<void> {
  const listen = listenOf(host.db);
  if (!listen) return;
  const backoff = new Backoff();
  while (!host.closing.aborted) {
    try {
      const listening = listen(onQueue, onSilence);
      await Promise.race([listening, firing(host.closing)]);
      await firing(host.closing);
      // A server that is away must not keep the worker from stopping.
      const ended = listening.then((stop) => stop());
      await endsWithin(longestUnlisten, ended);
    } catch (error) {
      host.report({ type: "error", during: "listen", error });
      await backoff.wait(host.closing);
    }
  }
}

function listenOf(db: Db): Listen | undefined {
  const client = clientOf(db);
  if (typeof client?.listen !== "function") return undefined;
  if (typeof client.exec === "function") {
    return async (onNotified, onListening) => {
      const stop: StopListening = await client.listen(channel, onNotified);
      onListening();
      return stop;
    };
  }
  return async (onNotified, onListening) => {
    const { unlisten } = await client.listen(channel, onNotified, onListening);
    return unlisten;
  };
}

// The clients of drivers have no type in common: what matters is found by its name.
function clientOf(db: Db): any {
  const { $client, $primary } = db as { $client?: unknown; $primary?: { $client?: unknown } };
  return $primary?.$client ?? $client;
}
