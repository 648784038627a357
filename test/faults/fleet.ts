import type { Duration } from "../../src/tasks/duration.ts";
import type { WorkerEvent } from "../../src/worker/event.ts";
import { type SpawnedProcess, spawn } from "../processes/spawn.ts";
import type { WorkOptions } from "./work.ts";

export interface FleetOptions {
  url: string;
  work: WorkOptions;
  concurrency?: number;
  reapInterval?: Duration;
  /** What the names of the processes begin with. */
  name?: string;
}

interface Report {
  kind: "ready" | "run" | WorkerEvent["type"];
  task: number;
}

export interface Member {
  readonly name: string;
  readonly process: SpawnedProcess;
  /** Whether it was told to end, by whatever signal. */
  isDoomed: boolean;
}

/** Worker processes on one database, and what became of them. */
export class Fleet {
  /** Those at work that nobody told to end. */
  readonly members = new Set<Member>();
  /** When each process was gone, as `Date.now()`. */
  readonly gone = new Map<string, number>();
  /** How many events of each kind came. */
  readonly counts: Record<string, number> = {};
  readonly lost: number[] = [];
  /** Processes that ended in a way that nobody asked for. */
  readonly complaints: string[] = [];
  readonly #options: FleetOptions;
  readonly #exits = new Set<Promise<void>>();
  #starting = 0;
  #started = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** Starts a process; resolves once it works. */
  async start(): Promise<Member> {
    const { concurrency = 10, reapInterval = 300, name: prefix = "process", ...rest } = this.#options;
    const name = `${prefix}-${++this.#started}`;
    this.#starting++;
    const process = await spawn(new URL("./worker-process.ts", import.meta.url), {
      env: { FLEET_WORKER: JSON.stringify({ ...rest, concurrency, reapInterval, name }) },
    });
    const member: Member = { name, process, isDoomed: false };
    const exit = this.#watch(member);
    this.#exits.add(exit);
    void exit.then(() => this.#exits.delete(exit));
    await process.message<Report>(({ kind }) => kind === "ready").catch(() => {});
    this.#starting--;
    if (!this.gone.has(name)) this.members.add(member);
    void this.#listen(member);
    return member;
  }

  /** How many are at work or on their way. */
  get size(): number {
    return this.members.size + this.#starting;
  }

  startMany(count: number): Promise<Member[]> {
    return Promise.all(Array.from({ length: count }, () => this.start()));
  }

  /** Resolves once the process is gone. */
  async end(member: Member, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    member.isDoomed = true;
    this.members.delete(member);
    member.process.kill(signal);
    await member.process.exited;
  }

  /** Ends all that are left, in peace, and waits for those that were killed. */
  async close(): Promise<void> {
    while (this.#starting > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([...this.members].map((member) => this.end(member, "SIGTERM")));
    await Promise.all(this.#exits);
  }

  /** How many reports of a kind came so far. */
  count(kind: Report["kind"]): number {
    return this.counts[kind] ?? 0;
  }

  async #listen({ process }: Member): Promise<void> {
    try {
      for (;;) {
        const { kind, task } = await process.message<Report>();
        this.counts[kind] = this.count(kind) + 1;
        if (kind === "lost") this.lost.push(task);
      }
    } catch {
      // It is gone.
    }
  }

  async #watch(member: Member): Promise<void> {
    const { code, signal } = await member.process.exited;
    this.gone.set(member.name, Date.now());
    this.members.delete(member);
    // A poison task kills its process; anything else that is not a clean exit is a fault of the worker.
    if (signal !== "SIGKILL" && (code !== 0 || !member.isDoomed)) {
      this.complaints.push(`${member.name} ended with ${signal ?? `code ${code}`}\n${member.process.stderr}`);
    }
    if (member.process.stderr) this.complaints.push(`${member.name} wrote to stderr: ${member.process.stderr}`);
  }
}
