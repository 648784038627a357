import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { databaseUrl } from "./database.ts";

type Mode =
  | { kind: "pass" }
  | { kind: "blackhole" }
  | { kind: "dropReplies"; matches: (reply: Buffer) => boolean; left: number };

interface Link {
  client: Socket;
  server: Socket;
  /** Bytes were swallowed, so the conversation can never make sense again. */
  lossy: boolean;
}

/** Matches the reply that tells a client its transaction was committed. */
export const isCommitReply = (reply: Buffer): boolean => reply.includes("COMMIT\0");

/** A network in front of a server, which tests can make misbehave. */
export class PostgresProxy {
  readonly #upstream: URL;
  readonly #listener: Server;
  readonly #links = new Set<Link>();
  #mode: Mode = { kind: "pass" };

  private constructor(upstream: URL, listener: Server) {
    this.#upstream = upstream;
    this.#listener = listener;
    listener.on("connection", (client) => this.#link(client));
  }

  static async create(server: string): Promise<PostgresProxy> {
    const listener = createServer({ noDelay: true, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject);
      listener.listen(0, "127.0.0.1", resolve);
    });
    return new PostgresProxy(new URL(server), listener);
  }

  /** Connection string of a database of the server, by way of the proxy. */
  url(database: string): string {
    const url = new URL(databaseUrl(this.#upstream.href, database));
    url.host = `127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
    return url.href;
  }

  /** How many clients are connected. */
  get connections(): number {
    return [...this.#links].filter(({ client }) => !client.destroyed).length;
  }

  /** Forwards everything, except on connections that a blackhole already took bytes from: those stay dead. */
  pass(): void {
    this.#mode = { kind: "pass" };
  }

  /** Swallows what either side sends, and the news that a side closed, so that both believe the other is silent. */
  blackhole(): void {
    this.#mode = { kind: "blackhole" };
  }

  /** Breaks every connection there is, on both sides; later ones are treated as before. */
  cut(): void {
    for (const link of this.#links) this.#break(link);
  }

  /**
   * Breaks the connection in place of forwarding a reply that matches: the server did what it was asked, and the
   * client never learns. `matches` sees the bytes as they come, which may be several messages at once.
   */
  dropReplies(matches: (reply: Buffer) => boolean, { times = Number.POSITIVE_INFINITY } = {}): void {
    this.#mode = { kind: "dropReplies", matches, left: times };
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#listener.close(resolve));
    this.cut();
    await closed;
  }

  #link(client: Socket): void {
    const port = Number(this.#upstream.port || 5432);
    const server = connect({ port, host: this.#upstream.hostname, noDelay: true, allowHalfOpen: true });
    const link: Link = { client, server, lossy: false };
    this.#links.add(link);
    client.on("data", (bytes) => {
      if (this.#carries(link)) server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (!this.#carries(link)) return;
      if (this.#drops(bytes)) this.#break(link);
      else client.write(bytes);
    });
    for (const side of [client, server]) {
      const other = side === client ? server : client;
      // The other side's failure shows as its "close".
      side.on("error", () => {});
      side.on("end", () => {
        if (this.#carries(link)) other.end();
        if (side === client && link.lossy) client.destroy();
      });
      side.on("close", () => {
        if (this.#carries(link)) other.destroy();
        if (client.destroyed && server.destroyed) this.#links.delete(link);
      });
    }
  }

  #carries(link: Link): boolean {
    if (this.#mode.kind === "blackhole") link.lossy = true;
    return !link.lossy;
  }

  #drops(reply: Buffer): boolean {
    if (this.#mode.kind !== "dropReplies" || this.#mode.left <= 0 || !this.#mode.matches(reply)) return false;
    this.#mode.left -= 1;
    return true;
  }

  #break(link: Link): void {
    link.client.destroy();
    link.server.destroy();
  }
}
