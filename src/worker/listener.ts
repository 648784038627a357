import { channel } from "../queries/notify.ts";
import type { Db } from "../queries/statement.ts";
import type { Host } from "./host.ts";

type StopListening = () => Promise<void>;
/** `onNotified` gets the payload, `onListening` is called at each (re)connection. */
type Listen = (onNotified: (payload: string) => void, onListening: () => void) => Promise<StopListening>;

/**
 * Wakes the worker when work is announced, over a connection that the driver keeps: postgres-js, which reconnects by
 * itself, and PGlite. Other drivers are left to polling. `onSilence` is called whenever announcements may have been missed.
 *
 * @returns what ends it
 */
export async function listen(
  host: Host,
  { onQueue, onSilence }: { onQueue: (queue: string) => void; onSilence: () => void },
): Promise<StopListening> {
  const start = listenOf(host.db);
  if (!start) return async () => {};
  try {
    return await start(onQueue, onSilence);
  } catch (error) {
    host.report({ type: "error", during: "listen", error });
    return async () => {};
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
