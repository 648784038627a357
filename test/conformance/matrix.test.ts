import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { whyMissing } from "../postgres/binaries.ts";
import { createDatabase } from "../postgres/database.ts";
import { PgBouncer } from "../postgres/pgbouncer.ts";
import { PostgresServer } from "../postgres/server.ts";
import { type Cell, cellName, cells, postgresMajor } from "./cell.ts";
import { Lanes } from "./lanes.ts";
import { removeProjects, runCell } from "./run-cell.ts";
import { cases } from "./suite/cases.ts";
import type { Report } from "./suite/report.ts";
import { matrixTable } from "./table.ts";

// One suite on every driver, under both majors of Drizzle, on the oldest and the newest Postgres.

const begin = performance.now();
const pgbouncer = await PgBouncer.find();
const noPgbouncer = "no program pgbouncer on this machine";
/** Why a cell cannot run on this machine. */
const reasonOf = ({ mode, server, driver }: Cell): string | undefined => {
  if (mode === "pooled" && pgbouncer === undefined) return noPgbouncer;
  return driver === "pglite" ? undefined : whyMissing(postgresMajor[server]);
};

let oldest: PostgresServer | undefined;
let pooler: PgBouncer | undefined;
const ends = new Map<string, Report[] | string>();
const lanes = new Lanes(
  2,
  cells.map((cell) => () => (reasonOf(cell) ? Promise.resolve([]) : run(cell))),
);

beforeAll(async () => {
  const major = postgresMajor.oldest;
  if (!whyMissing(major)) oldest = await PostgresServer.create({ major });
  if (pgbouncer) pooler = await PgBouncer.start(pgbouncer, inject("postgresUrl"));
});

afterAll(async () => {
  const seconds = Math.round((performance.now() - begin) / 1_000);
  const table = matrixTable((cell) => {
    const reason = reasonOf(cell);
    return reason ? `skipped: ${reason}` : ends.get(cellName(cell));
  });
  console.log(`Conformance, ${cases.length} cases, ${seconds} s\n\n${table}\n`);
  await pooler?.stop();
  await oldest?.destroy();
  await removeProjects();
});

async function run(cell: Cell): Promise<Report[]> {
  const server = cell.server === "oldest" && oldest ? oldest.url : inject("postgresUrl");
  const database = await createDatabase({ server });
  try {
    if (cell.mode === "prepared") {
      await database.client.unsafe(`alter database ${database.name} set plan_cache_mode = force_generic_plan`);
    }
    const reports = await runCell(cell, cell.mode === "pooled" ? pooler!.url(database.name) : database.url);
    ends.set(cellName(cell), reports);
    return reports;
  } catch (error) {
    ends.set(cellName(cell), "broken");
    throw error;
  } finally {
    await database.end();
  }
}

test("the names of the cases are unique", () => {
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
});

test.skipIf(pgbouncer !== undefined || !process.env.PGQUEUE_CI)("PgBouncer is there", () => {
  expect(pgbouncer, noPgbouncer).toBeDefined();
});

for (const [index, cell] of cells.entries()) {
  describe(cellName(cell), () => {
    let reports = new Map<string, Report>();
    beforeAll(async () => {
      if (reasonOf(cell)) return;
      reports = new Map((await lanes.startFrom(index, 2)).map((report) => [report.name, report]));
    }, 300_000);

    for (const { name } of cases) {
      test(name, ({ skip }) => {
        const reason = reasonOf(cell);
        if (reason) skip(reason);
        const report = reports.get(name);
        if (report?.end === "skipped") skip(report.note);
        if (report?.end !== "passed") expect.fail(report?.note ?? "the cell ended without this case");
      });
    }
  });
}
