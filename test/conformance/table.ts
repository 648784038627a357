import { majors } from "../projects/project.ts";
import { type Cell, majorsOf, postgresMajor, rowName, rows } from "./cell.ts";
import type { Report } from "./suite/report.ts";

const columns = majors.flatMap((drizzle) => (["oldest", "newest"] as const).map((server) => ({ drizzle, server })));

const footnote = `–: PgBouncer, and generic plans, are checked with one major in front of the newest server. PGlite is a Postgres itself: below 13
stands its oldest version that is supported, 0.3, which is Postgres 17, and below 18 the newest.
Cases that a driver has no part in are left out of the counts: LISTEN on Bun, other connections on PGlite, and so on.`;

/** The matrix, as text for a log. */
export function matrixTable(endOf: (cell: Cell) => readonly Report[] | string | undefined): string {
  const head = [
    "driver",
    ...columns.map(({ drizzle, server }) => `drizzle ${drizzle}, Postgres ${postgresMajor[server]}`),
  ];
  const lines = rows.map((row) => [
    rowName(row),
    ...columns.map((column) => {
      if (!row.servers.includes(column.server) || !majorsOf(row).includes(column.drizzle)) return "–";
      return summary(endOf({ ...row, ...column }));
    }),
  ]);
  const widths = head.map((_, i) => Math.max(...[head, ...lines].map((line) => line[i]!.length)));
  const toText = (line: readonly string[]) => `| ${line.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [toText(head), rule, ...lines.map(toText), "", footnote].join("\n");
}

function summary(end: readonly Report[] | string | undefined): string {
  if (end === undefined) return "not run";
  if (typeof end === "string") return end;
  const count = (wanted: Report["end"]) => end.filter((report) => report.end === wanted).length;
  const failed = end.filter((report) => report.end === "failed").map(({ name }) => name);
  const passed = `${count("passed")} passed`;
  return failed.length === 0 ? passed : `${passed}, ${failed.length} failed: ${failed.join("; ").slice(0, 120)}`;
}
