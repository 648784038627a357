import { type ChildProcess, spawn } from "node:child_process";
import { access, chown, constants, mkdtemp, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { freePort, temporaryFolder, unprivilegedAccount } from "./server.ts";

/** PgBouncer in transaction mode, in front of all databases of a server. */
export class PgBouncer {
  readonly #server: URL;
  readonly #port: number;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(server: URL, port: number, folder: string, process: ChildProcess) {
    this.#server = server;
    this.#port = port;
    this.#folder = folder;
    this.#process = process;
  }

  /** The program, where this machine has it. */
  static async find(): Promise<string | undefined> {
    const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"];
    for (const folder of folders) {
      const program = join(folder, "pgbouncer");
      const isThere = access(program, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (await isThere) return program;
    }
    return undefined;
  }

  /** @param url connection string of the server */
  static async start(program: string, url: string): Promise<PgBouncer> {
    const account = await unprivilegedAccount();
    const folder = await mkdtemp(join(await temporaryFolder(account), "pgqueue-pgbouncer-"));
    const server = new URL(url);
    const port = await freePort();
    const users = join(folder, "users.txt");
    const settings = join(folder, "pgbouncer.ini");
    const user = decodeURIComponent(server.username);
    await writeFile(users, `"${user}" "${decodeURIComponent(server.password)}"\n`, { mode: 0o600 });
    await writeFile(settings, settingsOf(server, port, users), { mode: 0o600 });
    if (account) for (const path of [folder, users, settings]) await chown(path, account.uid, account.gid);
    const child = spawn(program, [settings], { ...account, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
    process.once("exit", () => child.kill("SIGKILL"));
    await isUp(child);
    return new PgBouncer(server, port, folder, child);
  }

  /** Connection string of a database of the server, by way of the pooler. */
  url(database: string): string {
    const url = new URL(this.#server);
    url.host = `127.0.0.1:${this.#port}`;
    url.pathname = `/${database}`;
    return url.href;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#process.once("close", resolve));
    this.#process.kill("SIGKILL");
    await closed;
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function settingsOf(server: URL, port: number, users: string): string {
  return `[databases]
* = host=${server.hostname} port=${server.port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 5
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
`;
}

function isUp(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = "";
    child.once("error", reject);
    child.once("close", () => reject(new Error(`PgBouncer did not start:\n${log}`)));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-10_000);
      if (log.includes("process up")) resolve();
    });
  });
}
