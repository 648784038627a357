import { setTimeout as rest } from "node:timers/promises";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { createDatabase } from "../postgres/database.ts";
import { PostgresServer } from "../postgres/server.ts";
import { Fleet } from "./fleet.ts";
import { audit, createLedger } from "./ledger.ts";
import { pgqueue, type Work, workSpec } from "./work.ts";

export interface SoakOptions {
  /** For how long processes and server are killed, in milliseconds. */
  duration: number;
  tasks: number;
  workers: number;
  seed: number;
  print?: (line: string) => void;
}

export interface SoakReport {
  offenders: string[];
  tasks: number;
  runs: number;
  faults: Record<string, number>;
}

const work = { queue: "soak", leaseDuration: 2_500, finalizeBuffer: 600, pollInterval: 150, retryDelay: 50 };

/** Numbers from 0 to 1 that a seed repeats. */
function randomness(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Runs tasks in worker processes, and kills, ends and restarts those and the server at random meanwhile; then lets the work
 * come to its end and accounts for every task.
 */
export async function soak({ duration, tasks, workers, seed, print = () => {} }: SoakOptions): Promise<SoakReport> {
  const server = await PostgresServer.create({ settings: { shared_buffers: "256MB", max_wal_size: "4GB" } });
  try {
    const database = await createDatabase({ server: server.url, migrated: true, client: { fetch_types: false } });
    await createLedger(database.client);
    const soaking = new Soak({ duration, tasks, workers, seed, print }, server, database.url);
    const report = await soaking.run();
    await database.client.end({ timeout: 0 });
    return report;
  } finally {
    await server.destroy();
  }
}

class Soak {
  readonly #options: Required<SoakOptions>;
  readonly #server: PostgresServer;
  readonly #fleet: Fleet;
  readonly #client: postgres.Sql;
  readonly #faults: Record<string, number> = {};
  readonly #random: () => number;
  readonly #began = performance.now();
  #enqueued = 0;
  #isOver = false;

  constructor(options: Required<SoakOptions>, server: PostgresServer, url: string) {
    this.#options = options;
    this.#server = server;
    this.#random = randomness(options.seed);
    this.#fleet = new Fleet({ url, work, concurrency: 10, reapInterval: 400 });
    this.#client = postgres(url, { max: 3, fetch_types: false, onnotice: () => {}, backoff: () => 0.1 });
  }

  async run(): Promise<SoakReport> {
    await this.#fleet.startMany(this.#options.workers);
    const printing = this.#printProgress();
    await Promise.all([this.#enqueue(), this.#wreck()]);
    this.#options.print("no more faults; letting the work come to its end");
    const isDrained = await this.#drain();
    this.#isOver = true;
    await printing;
    await this.#fleet.close();
    const offenders = isDrained ? [] : ["the work did not come to its end in time"];
    await this.#writeEnds();
    offenders.push(...(await audit(this.#client, { queue: work.queue, lost: this.#fleet.lost })));
    const [row] = await this.#client`
      select (select count(*)::int from runs) as runs,
        (select count(*)::int from pgqueue_tasks where queue = ${work.queue}) as tasks`;
    if (row!.tasks !== this.#options.tasks) {
      offenders.push(`${this.#options.tasks} tasks were enqueued, and ${row!.tasks} are there`);
    }
    offenders.push(...this.#fleet.complaints);
    await this.#client.end({ timeout: 0 });
    return { offenders, tasks: row!.tasks, runs: row!.runs, faults: { ...this.#faults } };
  }

  /**
   * Spreads the tasks over most of the time. An enqueue whose answer was lost is sent again: hashes keep it from doubling.
   * One by one, since a batch takes a transaction, in which postgres.js 3.4.9 may end the process when the server dies.
   */
  async #enqueue(): Promise<void> {
    const { duration, tasks } = this.#options;
    const spec = workSpec(work);
    const db = drizzle(this.#client);
    while (this.#enqueued < tasks) {
      const due = Math.min(tasks, Math.ceil((tasks * this.#elapsed) / (duration * 0.85)));
      const count = Math.min(due - this.#enqueued, 1 + Math.floor(this.#random() * 200));
      if (count > 0) {
        const items = Array.from({ length: count }, (_, i) => this.#newTask(this.#enqueued + i));
        await Promise.all(
          items.map(({ payload, ...options }) => this.#untilDone(() => pgqueue.enqueue(db, spec, payload, options))),
        );
        this.#enqueued += count;
      } else {
        await rest(20);
      }
    }
  }

  #newTask(number: number): { payload: Work; maxRetries?: number } {
    if (number % 4_001 === 400) return { payload: { kind: "poison", number }, maxRetries: 2 };
    return { payload: this.#newWork(number) };
  }

  #newWork(number: number): Work {
    const takes = Math.floor(this.#random() ** 3 * 60);
    const lot = this.#random();
    if (lot < 0.7) return { kind: "ok", takes, number };
    if (lot < 0.9) return { kind: "transactional", takes, number };
    return { kind: lot < 0.97 ? "flaky" : "fail", takes, number };
  }

  async #wreck(): Promise<void> {
    const deck = [...Array(4).fill("kill"), ...Array(3).fill("end"), "restart", "crash", "outage"];
    // On a slow machine also for longer, until there was more than one kind of fault.
    const isEnough = () => this.#elapsed >= this.#options.duration && Object.keys(this.#faults).length > 1;
    for (let hand: string[] = []; !isEnough(); ) {
      if (hand.length === 0) hand = [...deck];
      await rest(100 + this.#random() * 1_000);
      this.#replenish();
      const [fault] = hand.splice(Math.floor(this.#random() * hand.length), 1);
      await this.#fault(fault!);
    }
  }

  async #fault(fault: string): Promise<void> {
    this.#faults[fault] = (this.#faults[fault] ?? 0) + 1;
    const members = [...this.#fleet.members];
    const victim = members[Math.floor(this.#random() * members.length)];
    switch (fault) {
      case "kill":
        return victim && this.#fleet.end(victim, "SIGKILL");
      case "end":
        // Not waited for: it drains while the next fault comes.
        if (victim) void this.#fleet.end(victim, "SIGTERM");
        return;
      case "restart":
        return this.#server.restart();
      case "crash":
        return this.#server.crash();
      default:
        await this.#server.stop();
        await rest(300 + this.#random() * 2_500);
        return this.#server.start();
    }
  }

  /** Starts a process for each that is gone, without waiting for it. */
  #replenish(): void {
    while (this.#fleet.size < this.#options.workers) void this.#fleet.start();
  }

  async #drain(): Promise<boolean> {
    const until = performance.now() + 60_000 + this.#options.tasks * 5;
    while (performance.now() < until) {
      if ((await this.#left()) === 0) return true;
      this.#replenish();
      await rest(200);
    }
    return false;
  }

  async #left(): Promise<number> {
    const [row] = await this.#untilDone(
      () => this.#client`select count(*)::int as left from pgqueue_tasks where status in ('pending', 'running')`,
    );
    return row!.left;
  }

  async #writeEnds(): Promise<void> {
    const rows = [...this.#fleet.gone].map(([process, ended]) => ({ process, ended }));
    for (let i = 0; i < rows.length; i += 1_000) {
      await this.#client`insert into processes ${this.#client(rows.slice(i, i + 1_000))}`;
    }
  }

  async #untilDone<T>(action: () => PromiseLike<T>): Promise<T> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        if (this.#isOver) throw error;
        await rest(100);
      }
    }
  }

  async #printProgress(): Promise<void> {
    for (let ticks = 1; !this.#isOver; ticks++) {
      await rest(500);
      if (ticks % 10 > 0) continue;
      const { counts, size } = this.#fleet;
      const told = ["settled", "lost", "unknown", "abandoned", "error"].map((kind) => `${counts[kind] ?? 0} ${kind}`);
      const faults = Object.values(this.#faults).reduce((sum, count) => sum + count, 0);
      this.#options.print(
        `${Math.round(this.#elapsed / 1_000)} s: ${this.#enqueued} enqueued, ${faults} faults, ${size} workers; ${told.join(", ")}`,
      );
    }
  }

  get #elapsed(): number {
    return performance.now() - this.#began;
  }
}
