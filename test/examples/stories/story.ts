import type postgres from "postgres";

/** What an example is to prove, by a folder of the same name. */
export interface Story {
  readonly name: string;
  /** Checks what it printed. */
  tells(lines: readonly string[]): void;
  /** Checks the database that it left on a server. */
  leaves(sql: postgres.Sql): Promise<void>;
}
