import { type Database, Databases } from "./databases.ts";
import { MeasuredProcess } from "./measured-process.ts";
import type { Server } from "./server.ts";
import type { SideName, Tuning } from "./sides/side.ts";

/** What a scenario measures with. */
export class Bench {
  readonly databases: Databases;

  constructor(server: Server) {
    this.databases = new Databases(server);
  }

  /** A database of a side with so many tasks that are due; the same bytes each time. */
  filled(side: SideName, tuning: Tuning, tasks: number): Promise<Database> {
    // Statements of pgqueue alone work on the tables of pgqueue.
    const owner = side === "floor" ? "pgqueue" : side;
    return this.databases.copyOf(`${owner} ${tuning} ${tasks}`, (url) =>
      new MeasuredProcess("fill", { side: owner, url, tuning, tasks }).report.then(() => {}),
    );
  }

  async end(): Promise<void> {
    await this.databases.end();
  }
}
