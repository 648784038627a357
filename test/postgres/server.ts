import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { copyBinaries, findBinaries, isOpenToAll, type PostgresMajor } from "./binaries.ts";
import { watchFolder } from "./watchdog.ts";

const run = promisify(execFile);

interface Account {
  uid: number;
  gid: number;
}

export interface ServerOptions {
  /** Default: the newest. */
  major?: PostgresMajor;
  /** Server settings, as in `postgresql.conf`. */
  settings?: Record<string, string | number>;
}

/** A real Postgres server in a temporary folder, listening on the loopback interface only. */
export class PostgresServer {
  readonly #folder: string;
  readonly #postgres: string;
  readonly #account: Account | undefined;
  readonly #password: string;
  readonly #settings: Record<string, string | number>;
  readonly #watchdog: { release(): Promise<void> };
  #port = 0;
  #process: ChildProcess | undefined;
  #closed: Promise<unknown> = Promise.resolve();
  #log = "";

  private constructor(parts: {
    folder: string;
    postgres: string;
    account: Account | undefined;
    password: string;
    settings: Record<string, string | number>;
    watchdog: { release(): Promise<void> };
  }) {
    this.#folder = parts.folder;
    this.#postgres = parts.postgres;
    this.#account = parts.account;
    this.#password = parts.password;
    this.#settings = parts.settings;
    this.#watchdog = parts.watchdog;
  }

  /** Makes a new cluster and starts it. It ends with `destroy()`, or with this process. */
  static async create(options: ServerOptions = {}): Promise<PostgresServer> {
    const account = await unprivilegedAccount();
    const major = options.major ?? "18";
    const found = await findBinaries(major);
    const folder = await mkdtemp(join(await temporaryFolder(account), "pgqueue-postgres-"));
    const watchdog = watchFolder(folder);
    try {
      if (account) await chown(folder, account.uid, account.gid);
      const reachable = !account || (await isOpenToAll(found.native));
      const { initdb, postgres } = reachable ? found : await copyBinaries(found.native, join(folder, "native"));
      const password = randomBytes(12).toString("hex");
      await initialise(initdb, folder, { major, password, account });
      const server = new PostgresServer({
        folder,
        postgres,
        account,
        password,
        settings: options.settings ?? {},
        watchdog,
      });
      await server.#startOnFreePort();
      return server;
    } catch (error) {
      await watchdog.release();
      throw error;
    }
  }

  /** Connection string of the `postgres` database; it stays the same over restarts. */
  get url(): string {
    return `postgres://postgres:${this.#password}@127.0.0.1:${this.#port}/postgres`;
  }

  get folder(): string {
    return this.#folder;
  }

  /** Process id of the postmaster; undefined while the server is down. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** The end of what the server logged. */
  get log(): string {
    return this.#log;
  }

  async start(): Promise<void> {
    if (this.#process) throw new Error("The server is already running");
    const settings = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: 300,
      timezone: "UTC",
      ...this.#settings,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(this.#postgres, ["-D", join(this.#folder, "data"), "-p", String(this.#port), ...flags], {
      ...this.#account,
      cwd: this.#folder,
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    // Every backend holds the pipe too, so "close" comes when the last of them is gone and not just the postmaster.
    this.#closed = new Promise((resolve) => child.once("close", resolve));
    const output = child.stderr as Socket;
    output.setEncoding("utf8");
    let started = "";
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", () => {
        if (this.#process === child) this.#process = undefined;
        reject(new Error(`Postgres did not start:\n${started}`));
      });
      output.on("data", (text: string) => {
        this.#log = (this.#log + text).slice(-100_000);
        if (!started.includes("database system is ready to accept connections")) {
          started += text;
          if (started.includes("database system is ready to accept connections")) resolve();
        }
      });
    });
    // A script that forgets the server may still end; the watchdog cleans up after it.
    child.unref();
    output.unref();
  }

  /** Fast shutdown: open transactions are rolled back, sessions are told, data is kept. */
  stop(): Promise<void> {
    return this.#end("SIGINT");
  }

  /**
   * Kills the postmaster on the spot and waits until no backend is left. Those that wait for a client, a lock or a
   * timer die with it; one in the middle of a statement gets to the end of it.
   */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Kills the server and starts it again, so that it goes through crash recovery. */
  async crash(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Stops the server and removes its folder. */
  async destroy(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
    await this.#watchdog.release();
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (!child) return;
    child.ref();
    (child.stderr as Socket).ref();
    child.kill(signal);
    await this.#closed;
    this.#process = undefined;
  }

  async #startOnFreePort(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.#port = await freePort();
      try {
        return await this.start();
      } catch (error) {
        if (attempt === 5 || !/Address already in use/.test(String(error))) throw error;
      }
    }
  }
}

async function initialise(
  initdb: string,
  folder: string,
  { major, password, account }: { major: PostgresMajor; password: string; account: Account | undefined },
) {
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (account) await chown(passwordFile, account.uid, account.gid);
  const flags = [
    `--pgdata=${join(folder, "data")}`,
    "--username=postgres",
    `--pwfile=${passwordFile}`,
    "--auth=password",
    "--encoding=UTF8",
    "--locale=C",
    // Sorts text by language rules, as most production databases do, whatever locales this machine has. Not before 15.
    ...(Number(major) < 15 ? [] : ["--locale-provider=icu", "--icu-locale=en-US"]),
    "--no-sync",
  ];
  await run(initdb, flags, { ...account, cwd: folder });
  await rm(passwordFile);
}

/** Postgres refuses to run as root. Every system has the account `nobody`, so none has to be created. */
export async function unprivilegedAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const id = async (flag: string) => Number((await run("id", [flag, "nobody"])).stdout);
  return { uid: await id("-u"), gid: await id("-g") };
}

export async function temporaryFolder(account: Account | undefined): Promise<string> {
  if (!account || (await isOpenToAll(tmpdir()))) return tmpdir();
  return "/tmp";
}

/**
 * Picks below the range that outgoing connections draw from (32768 and up): there, a client that keeps trying to
 * connect to a stopped server could be given that very port, and the server could not come back.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}
