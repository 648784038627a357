import postgres from "postgres";
import { PostgresServer } from "../test/postgres/server.ts";

/** What differs from the defaults of Postgres. Durability does not: fsync, synchronous_commit, full_page_writes are on. */
export const serverSettings: Record<string, string> = {
  // So that no checkpoint falls into one measurement and not into another; one is made before each.
  max_wal_size: "8GB",
  checkpoint_timeout: "1h",
  shared_buffers: "512MB",
  max_connections: "200",
  // To count statements.
  shared_preload_libraries: "pg_stat_statements",
};

export interface Server {
  /** Of the database `postgres`. */
  readonly url: string;
  /** The process id of the postmaster. */
  readonly pid: number;
  readonly version: string;
  stop(): Promise<void>;
}

/** A server of its own, which is gone with all its files once it stops, fails to start, or this process has ended. */
export async function startServer(): Promise<Server> {
  const server = await PostgresServer.create({ settings: serverSettings });
  const client = postgres(server.url, { max: 1 });
  const [row] = await client<{ version: string }[]>`select current_setting('server_version') as version`;
  await client`create extension pg_stat_statements`;
  await client.end();
  return { url: server.url, pid: server.pid!, version: row!.version, stop: () => server.destroy() };
}
