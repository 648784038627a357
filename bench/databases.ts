import postgres from "postgres";
import { MeasuredProcess } from "./measured-process.ts";
import type { Server } from "./server.ts";
import { cpuOfServer } from "./server-cpu.ts";
import type { SideName, Tuning } from "./sides/side.ts";

export interface Database {
  readonly url: string;
  /** What one statement returns, by a connection whose statements are not counted. */
  query<Row extends object>(text: string): Promise<Row[]>;
  /** The one number that a select returns. */
  count(select: string): Promise<number>;
  drop(): Promise<void>;
}

/** What the server did so far; subtract two of them. */
export interface ServerWork {
  walBytes: number;
  statements: number;
  /** Milliseconds, where the system tells. */
  cpu: number | undefined;
}

/**
 * How the server begins its own statement for a foreign key, which it counts as if a client had sent it where the check is
 * deferred. It shows the constant where the statement was planned before its counts were reset.
 */
const foreignKeyCheck = "^SELECT (1|[$][0-9]+) FROM ONLY ";

/** Makes databases on one server, each a copy of a template, so that every measurement begins with the same bytes. */
export class Databases {
  readonly #server: Server;
  readonly #admin: postgres.Sql;
  readonly #templates = new Map<string, Promise<string>>();
  #count = 0;

  constructor(server: Server) {
    this.#server = server;
    this.#admin = postgres(server.url, { max: 1, onnotice() {} });
  }

  /** A copy of the template of that name, which is built where there is none. */
  async copyOf(template: string, build: (url: string) => Promise<void>): Promise<Database> {
    let built = this.#templates.get(template);
    if (!built) {
      built = this.#build(build);
      this.#templates.set(template, built);
    }
    const name = this.#newName();
    await this.#admin.unsafe(`create database ${name} template ${await built} strategy file_copy`);
    return this.#open(name);
  }

  /** A database of a side with so many tasks that are due; the same bytes each time. */
  filled(side: SideName, tuning: Tuning, tasks: number): Promise<Database> {
    // Statements of pgqueue alone work on the tables of pgqueue.
    const owner = side === "floor" ? "pgqueue" : side;
    return this.copyOf(`${owner} ${tuning} ${tasks}`, (url) =>
      new MeasuredProcess("fill", { side: owner, url, tuning, tasks }).report.then(() => {}),
    );
  }

  /** Settles what earlier measurements left to be written. */
  async settle(): Promise<void> {
    await this.#admin`checkpoint`;
    await this.#admin`select pg_stat_statements_reset()`;
  }

  async work(database: Database): Promise<ServerWork> {
    const name = new URL(database.url).pathname.slice(1);
    const [row] = await this.#admin<{ wal: number; statements: number }[]>`
      select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as wal, coalesce(sum(calls), 0)::float8 as statements
      from pg_stat_statements join pg_database on pg_database.oid = dbid
      where datname = ${name} and toplevel and query !~ ${foreignKeyCheck}`;
    return { walBytes: row!.wal, statements: row!.statements, cpu: await cpuOfServer(this.#server.pid) };
  }

  async end(): Promise<void> {
    await this.#admin.end();
  }

  async #build(build: (url: string) => Promise<void>): Promise<string> {
    const name = this.#newName();
    // Sorts by bytes, which is the same everywhere.
    await this.#admin.unsafe(
      `create database ${name} template template0 locale_provider libc locale 'C' encoding 'UTF8'`,
    );
    const url = this.#urlOf(name);
    await build(url);
    const client = postgres(url, { max: 1 });
    // What autovacuum would do sooner or later, in the middle of some measurement.
    await client`vacuum (analyze)`;
    await client.end();
    await this.#untilUnused(name);
    return name;
  }

  #open(name: string): Database {
    const url = this.#urlOf(name);
    const uncounted = { "pg_stat_statements.track": "none" };
    const client = postgres(url, { max: 1, onnotice() {}, connection: uncounted as Record<string, string> });
    const query = async <Row extends object>(text: string) => [...(await client.unsafe<Row[]>(text))];
    return {
      url,
      query,
      async count(select) {
        const [row] = await query<Record<string, number>>(select);
        return Object.values(row!)[0]!;
      },
      drop: async () => {
        await client.end();
        await this.#drop(name);
      },
    };
  }

  #urlOf(name: string): string {
    return new URL(name, this.#server.url).href;
  }

  #newName(): string {
    return `bench_${++this.#count}`;
  }

  async #drop(name: string): Promise<void> {
    await this.#admin.unsafe(`drop database if exists ${name} with (force)`);
  }

  /** A database is copied only while nobody is connected to it. */
  async #untilUnused(name: string): Promise<void> {
    await this.#admin`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${name}`;
  }
}
