import { fork, type Serializable } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface SpawnOptions {
  args?: string[];
  env?: Record<string, string>;
}

interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface SpawnedProcess {
  pid: number;
  /** Sends a message to the script, which gets it as a "message" event of `process`. */
  send(message: Serializable): void;
  /**
   * Takes the first message that matches out of those the script sent with `process.send`, waiting for it if need be.
   * Rejects when the script exits without sending one.
   */
  message<T = unknown>(matches?: (message: T) => boolean): Promise<T>;
  /** Sends a signal, SIGTERM unless told otherwise; `exited` tells when the process is gone. */
  kill(signal?: NodeJS.Signals): void;
  exited: Promise<Exit>;
  /** What the script wrote so far. */
  readonly stdout: string;
  readonly stderr: string;
}

interface Waiter {
  matches: (message: never) => boolean;
  resolve: (message: never) => void;
  reject: (error: Error) => void;
}

const root = new URL("../../", import.meta.url);
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

// `exit` handlers do not run when this process is killed, so the script also looks out for losing its parent.
const endWithParent = `data:text/javascript,${encodeURIComponent(
  `const parent = process.ppid;
  setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, "SIGKILL"); }, 200).unref();`,
)}`;

/** Runs a TypeScript file as an operating system process in which `pgqueue` means the source of this project. */
export async function spawn(script: URL | string, options: SpawnOptions = {}): Promise<SpawnedProcess> {
  const child = fork(script instanceof URL ? fileURLToPath(script) : script, options.args ?? [], {
    cwd: fileURLToPath(root),
    execArgv: ["--import", tsx, "--import", endWithParent],
    env: { ...process.env, TSX_TSCONFIG_PATH: fileURLToPath(new URL("tsconfig.json", root)), ...options.env },
    serialization: "advanced",
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const killChild = () => child.kill("SIGKILL");
  process.on("exit", killChild);

  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]!.setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
    });
  }

  const unclaimed: unknown[] = [];
  const waiters = new Set<Waiter>();
  child.on("message", (message) => {
    for (const waiter of waiters) {
      if (!waiter.matches(message as never)) continue;
      waiters.delete(waiter);
      waiter.resolve(message as never);
      return;
    }
    unclaimed.push(message);
  });

  let gone: Error | undefined;
  const exited = new Promise<Exit>((resolve) => {
    // Unlike "exit", "close" comes after the last of the output.
    child.once("close", (code, signal) => {
      process.off("exit", killChild);
      gone = new Error(`${script} is gone (${signal ?? `exit code ${code}`})\n${output.stderr}`);
      for (const { reject } of waiters) reject(gone);
      waiters.clear();
      resolve({ code, signal });
    });
  });
  await once(child, "spawn");

  return {
    pid: child.pid!,
    send: (message) => {
      // The script may be gone by now, which `exited` tells.
      child.send(message, () => {});
    },
    message<T>(matches: (message: T) => boolean = () => true) {
      const index = unclaimed.findIndex((message) => matches(message as T));
      if (index >= 0) return Promise.resolve(unclaimed.splice(index, 1)[0] as T);
      if (gone) return Promise.reject(gone);
      return new Promise<T>((resolve, reject) => waiters.add({ matches, resolve, reject }));
    },
    kill(signal = "SIGTERM") {
      child.kill(signal);
    },
    exited,
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
  };
}
