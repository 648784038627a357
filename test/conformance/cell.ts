import type { PostgresMajor } from "../postgres/binaries.ts";
import { type Major, majors } from "../projects/project.ts";
import type { DriverName, Mode } from "./suite/driver.ts";

/** One combination that the suite runs on. */
export interface Cell {
  readonly drizzle: Major;
  readonly driver: DriverName;
  readonly mode: Mode;
  /** Of PGlite, "13" stands for the oldest version of it, which is Postgres 17. */
  readonly postgres: PostgresMajor;
}

/** What the matrix has a row for. */
export interface Row {
  readonly driver: DriverName;
  readonly mode: Mode;
  readonly postgres: readonly PostgresMajor[];
}

export const rows: readonly Row[] = [
  { driver: "pglite", mode: "plain", postgres: ["13", "18"] },
  { driver: "postgres-js", mode: "plain", postgres: ["13", "18"] },
  { driver: "node-postgres", mode: "plain", postgres: ["13", "18"] },
  { driver: "bun-sql", mode: "plain", postgres: ["13", "18"] },
  { driver: "postgres-js", mode: "prepared", postgres: ["18"] },
  { driver: "node-postgres", mode: "prepared", postgres: ["18"] },
  { driver: "bun-sql", mode: "prepared", postgres: ["18"] },
  { driver: "postgres-js", mode: "pooled", postgres: ["18"] },
  { driver: "node-postgres", mode: "pooled", postgres: ["18"] },
];

/** Prepared plans and poolers have nothing to do with Drizzle's major: one is enough. */
export function majorsOf({ mode }: Pick<Row, "mode">): readonly Major[] {
  return mode === "plain" ? majors : ["0.45"];
}

export const cells: readonly Cell[] = rows.flatMap(({ postgres, ...row }) =>
  majorsOf(row).flatMap((drizzle) => postgres.map((major) => ({ ...row, drizzle, postgres: major }))),
);

export function rowName({ driver, mode }: Pick<Row, "driver" | "mode">): string {
  if (mode === "prepared") return `${driver}, prepared`;
  return mode === "pooled" ? `${driver}, PgBouncer` : driver;
}

export function cellName(cell: Cell): string {
  const server = cell.driver === "pglite" && cell.postgres === "13" ? "PGlite 0.3" : `Postgres ${cell.postgres}`;
  return `${rowName(cell)} on drizzle ${cell.drizzle}, ${server}`;
}
