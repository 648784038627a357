import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Claimer } from "../../src/worker/claimer.ts";
import { afterClosings } from "../../src/worker/turn.ts";
import { whyMissing } from "../postgres/binaries.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresServer } from "../postgres/server.ts";
import { job, pgqueue } from "../queries/jobs.ts";

// What a driver that prepares everything does to a queue, and what a worker does about the claims that it has prepared.

const spec = job({ queue: "q" });
const ended = 300_000;
const limit = 10;
/** After five Postgres may go on with a plan that it does not make anew. */
const untilKept = 6;

const missing = whyMissing("18");
describe.skipIf(missing)(`a plan that is kept from an empty table${missing ? ` (${missing})` : ""}`, () => {
  let server: PostgresServer;
  let database: TestDatabase;
  let client: postgres.Sql;
  const sent: [query: string, params: unknown[]][] = [];

  beforeAll(async () => {
    // Autovacuum would analyze the table within a minute.
    server = await PostgresServer.create({ major: "18", settings: { fsync: "off", autovacuum: "off" } });
  }, 60_000);
  afterAll(() => server.destroy());

  const emptyDatabase = async () => {
    database = await createDatabase({ migrated: true, server: server.url });
    // One connection, whose statements are looked at.
    client = postgres(database.url, { max: 1 });
    await database.client`vacuum analyze pgqueue_tasks`;
    sent.length = 0;
    return drizzle(client, { logger: { logQuery: (...query) => sent.push(query) } });
  };
  const fill = () =>
    database.client`insert into pgqueue_tasks (queue, payload, status, finished_at)
      select 'q', '{}', 'completed', now() from generate_series(1, ${ended}::int)`;
  const end = async () => {
    await client.end();
    await database.end();
  };
  const prepared = async () => {
    const [statement] = await client<{ name: string; used: number }[]>`
      select name, (generic_plans + custom_plans)::int as used from pg_prepared_statements
      where statement like 'with "gate"%'`;
    return statement;
  };

  /** The lines of a plan that tell of the task table. */
  const scans = async (statement: string) => {
    const lines = await client.unsafe(`explain ${statement}`);
    return lines.map((line) => String(line["QUERY PLAN"])).filter((line) => / on pgqueue_tasks/.test(line));
  };
  const literals = (params: readonly unknown[]) =>
    params.map((param) => (param === null ? "null" : `'${String(param).replaceAll("'", "''")}'`)).join(", ");

  test("reads a table that has grown since from end to end, until it is analyzed", async () => {
    const db = await emptyDatabase();
    for (let n = 0; n < untilKept; n++) await pgqueue.claim(db, spec, { limit, plan: 0 });
    await fill();
    const [query, params] = sent.at(-1)!;
    const kept = `execute "${(await prepared())!.name}" (${literals(params)})`;
    expect((await scans(kept)).join()).toMatch(/Seq Scan on pgqueue_tasks/);

    await client.unsafe(`prepare planned_now as ${query}`);
    const planned = await scans(`execute planned_now (${literals(params)})`);
    expect(planned.join()).toMatch(/pgqueue_tasks_claim/);
    expect(planned.join()).not.toMatch(/Seq Scan/);

    await client`analyze pgqueue_tasks`;
    expect((await scans(kept)).join()).not.toMatch(/Seq Scan/);
    await end();
  }, 60_000);

  test("is not what the next number has", async () => {
    const db = await emptyDatabase();
    const rounds = async (plan: number) => {
      for (let n = 0; n < untilKept; n++) await pgqueue.claim(db, spec, { limit, plan });
      const [statement] = await client`
        select name from pg_prepared_statements where statement like ${`with "gate"%/* plan ${plan} of %%`}`;
      return scans(`execute "${statement!.name}" (${literals(sent.at(-1)![1])})`);
    };
    expect((await rounds(1)).join()).toMatch(/Seq Scan on pgqueue_tasks/);
    await fill();
    expect((await rounds(2)).join()).not.toMatch(/Seq Scan/);
    await end();
  }, 60_000);

  test("is left by a worker after two claims", async () => {
    const db = await emptyDatabase();
    const { signal } = new AbortController();
    const claimer = new Claimer(
      { db, pgqueue, workerId: "w", closing: signal, closed: signal, nextTurn: afterClosings, report: () => {} },
      { spec, handler: () => {} },
    );
    for (let n = 0; n < 1 + untilKept; n++) await claimer.claim(limit);
    const before = (await prepared())!.used;
    expect(before).toBe(untilKept);
    await fill();
    for (let n = 0; n < 5; n++) await claimer.claim(limit);
    expect((await prepared())!.used).toBe(before + 2);
    await end();
  }, 60_000);
});
