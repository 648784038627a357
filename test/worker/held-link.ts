import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import type { TestDatabase } from "../postgres/database.ts";

/** A database handle over a network that can keep the server's replies waiting, in their order. */
export async function heldLink({ url }: TestDatabase, options: postgres.Options<{}> = {}) {
  const target = new URL(url);
  const { hostname, port } = target;
  const waiting: (() => void)[] = [];
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let isHolding: (reply: Buffer) => boolean = () => false;
  const listener = createServer((client) => {
    clients.add(client);
    client.once("close", () => clients.delete(client));
    const server = connect(Number(port), hostname);
    // Once a reply waits, those behind it on the same connection do too.
    let isStopped = false;
    server.on("data", (bytes) => {
      isStopped ||= isHolding(bytes);
      if (!isStopped) return client.write(bytes);
      waiting.push(() => {
        client.write(bytes);
        isStopped = false;
      });
      return false;
    });
    client.on("data", (bytes) => server.write(bytes));
    for (const [side, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(side);
      side.on("error", () => {}).on("close", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  target.host = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const client = postgres(target.href, { onnotice: () => {}, ...options });
  return {
    db: drizzle(client),
    /** From now on a reply that matches is kept. */
    hold(matches: (reply: Buffer) => boolean) {
      isHolding = matches;
    },
    /** How many replies are kept. */
    get held() {
      return waiting.length;
    },
    release() {
      isHolding = () => false;
      for (const pass of waiting.splice(0)) pass();
    },
    /** Resets every connection, as the kernel of a server that died does. */
    reset() {
      for (const socket of clients) socket.resetAndDestroy();
    },
    async end() {
      await client.end({ timeout: 0 });
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

/** The reply to an update of so many rows; of any number but none when it is left out. */
export const isUpdateOf = (count?: number) => (reply: Buffer) =>
  count === undefined ? /UPDATE [1-9]/.test(reply.toString("latin1")) : reply.includes(`UPDATE ${count}\0`);
