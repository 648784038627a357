import { channel } from "../queries/notify.ts";
import type { Db } from "../queries/statement.ts";

/** What a connection that listens is told of. */
export interface Ears {
  /** Work was announced in a queue. */
  onQueue(queue: string): void;
  /** It listens, or listens again: announcements may have been missed before. */
  onSilence(): void;
}

export interface Listening {
  stop(): Promise<unknown>;
  /** Rejects when the connection is lost; drivers that connect again by themselves leave it out. */
  readonly lost?: Promise<never>;
}

type Listen = (ears: Ears) => Promise<Listening>;

/** How the driver of a database listens. None where it cannot: new work is then found by polling. */
export function listenOf(db: Db): Listen | undefined {
  const client = clientOf(db);
  if (typeof client?.listen === "function") {
    return typeof client.exec === "function" ? (ears) => onPglite(client, ears) : (ears) => onPostgresJs(client, ears);
  }
  const isPool = typeof client?.Client === "function" && typeof client.options === "object";
  return isPool ? (ears) => besidePool(client, ears) : undefined;
}

async function onPglite(client: any, { onQueue, onSilence }: Ears): Promise<Listening> {
  const stop = await client.listen(channel, onQueue);
  onSilence();
  return { stop };
}

/** postgres.js keeps a connection of its own for this, and connects again by itself once it has listened. */
async function onPostgresJs(client: any, { onQueue, onSilence }: Ears): Promise<Listening> {
  const { unlisten } = await client.listen(channel, onQueue, onSilence);
  return { stop: unlisten };
}

/**
 * node-postgres: a connection beside the pool, since one of the pool is some other's in the next moment. Made as the pool
 * makes its own.
 */
async function besidePool(pool: any, { onQueue, onSilence }: Ears): Promise<Listening> {
  const client = new pool.Client(pool.options);
  const lost = new Promise<never>((_, reject) => {
    client.on("error", reject);
    client.on("end", () => reject(new Error("the connection that listens was ended")));
  });
  // Whoever waits for it may be gone by then.
  lost.catch(() => {});
  client.on("notification", ({ payload }: { payload?: string }) => onQueue(payload ?? ""));
  const stop = () => client.end();
  try {
    await client.connect();
    await client.query(`listen ${channel}`);
  } catch (error) {
    stop().catch(() => {});
    throw error;
  }
  onSilence();
  return { stop, lost };
}

// The clients of drivers have no type in common: what matters is found by its name.
function clientOf(db: Db): any {
  const { $client, $primary } = db as { $client?: unknown; $primary?: { $client?: unknown } };
  return $primary?.$client ?? $client;
}
