import { clientOf, driverOf } from "../queries/driver.ts";
import { channel } from "../queries/notify.ts";
import type { Db } from "../queries/statement.ts";

const keepAliveDelay = 10_000;

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
  const driver = driverOf(db);
  const listen = driver && { PGlite: onPglite, "postgres.js": onPostgresJs, "node-postgres pool": besidePool }[driver];
  return listen && ((ears) => listen(clientOf(db), ears));
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
  // Whoever waits for it may be gone by then; what is left of the connection goes in any case.
  lost.catch(() => stop().catch(() => {}));
  client.on("notification", ({ payload }: { payload?: string }) => onQueue(payload ?? ""));
  const stop = () => client.end();
  try {
    await client.connect();
    // It says nothing of its own: a connection that is gone without a word is noticed by this alone.
    client.connection?.stream?.setKeepAlive?.(true, keepAliveDelay);
    await client.query(`listen ${channel}`);
  } catch (error) {
    stop().catch(() => {});
    throw error;
  }
  onSilence();
  return { stop, lost };
}
