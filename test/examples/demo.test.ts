import { describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { exitCodeOf, type Figure } from "../../examples/demo/summary.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { type SpawnedProcess, spawn } from "../processes/spawn.ts";

const main = new URL("../../examples/demo/main.ts", import.meta.url);
/** Seconds from the opening of the shop to its summary. */
const longestStory = 20;
const patience = 60_000;
const figureLine = /^\S.*\s(\d+)\s+(\d+)\s+(ok|WRONG)$/;

async function start(url: string): Promise<SpawnedProcess> {
  const demo = await spawn(main, { env: { DATABASE_URL: url } });
  onTestFinished(() => demo.kill("SIGKILL"));
  return demo;
}

/** Runs the demo to its end, which has to come by itself. */
async function play(url: string) {
  const demo = await start(url);
  const giveUp = setTimeout(() => demo.kill("SIGKILL"), patience);
  const exit = await demo.exited;
  clearTimeout(giveUp);
  const lines = demo.stdout.split("\n").filter((line) => figureLine.test(line));
  const times = [...demo.stdout.matchAll(/^ *(\d+\.\d\d) {2}/gm)].map(([, seconds]) => Number(seconds));
  const story = times.length > 1 ? times.at(-1)! - times[1]! : Number.NaN;
  return { exit, story, figures: lines, stdout: demo.stdout, stderr: demo.stderr };
}

async function database(): Promise<TestDatabase> {
  const database = await createDatabase();
  onTestFinished(() => database.end());
  return database;
}

const schemas = async ({ client }: TestDatabase): Promise<string[]> =>
  (await client`select schema_name from information_schema.schemata order by 1`).map((row) => row.schema_name);

describe("the demo", () => {
  test("tells its story on PGlite, with nothing set", { timeout: patience * 2 }, async () => {
    const { exit, story, figures, stdout, stderr } = await play("");
    expect(stderr).toBe("");
    expect(exit).toEqual({ code: 0, signal: null });
    expect(figures).toHaveLength(12);
    expect(figures.filter((line) => !line.endsWith("ok"))).toEqual([]);
    expect(story).toBeLessThan(longestStory);
    for (const line of [
      "on PGlite",
      "On the left: seconds.",
      "starting PGlite, which takes a few seconds",
      "order and task are rolled back; their numbers stay used up",
      "sent the receipt of order 9 to ivy@away.example, at try 2",
      "today's code refuses it. PayloadError: payload.address",
      "printed a label for 1 Mill Lane, Leeds",
      "there already, completed",
      "Its finalize changes 0 rows: the claim is lost",
      "its transaction rolls back. StaleClaimError",
      "the ledger holds every order",
    ]) {
      expect(stdout).toContain(line);
    }
  });

  test("tells the same on a Postgres, and leaves it as it was", { timeout: patience * 2 }, async () => {
    const target = await database();
    const before = await schemas(target);
    const { exit, figures, stdout, stderr } = await play(target.url);
    expect(stderr).toBe("");
    expect(exit).toEqual({ code: 0, signal: null });
    expect(stdout).toContain("on the Postgres of DATABASE_URL");
    expect(figures).toHaveLength(12);
    expect(figures.filter((line) => !line.endsWith("ok"))).toEqual([]);

    expect(await schemas(target)).toEqual(before);
    expect(await target.client`select tablename from pg_tables where schemaname = 'public'`).toEqual([]);
  });

  test("fails when the tables hold something else than expected", { timeout: patience * 2 }, async () => {
    const target = await database();
    // As soon as the demo makes its table of payments, it gets a trigger that drops what is inserted.
    await target.client.unsafe(`
      create function drop_row() returns trigger language plpgsql as 'begin return null; end';
      create function sabotage() returns event_trigger language plpgsql as $$
        declare made record;
        begin
          for made in select * from pg_event_trigger_ddl_commands() loop
            if made.object_identity like '%.payments' then
              execute format('create trigger lose before insert on %s for each row execute function public.drop_row()',
                made.object_identity);
            end if;
          end loop;
        end $$;
      create event trigger sabotage on ddl_command_end when tag in ('CREATE TABLE') execute function sabotage();`);
    const { exit, figures } = await play(target.url);
    expect(exit).toEqual({ code: 1, signal: null });
    expect(figures.filter((line) => !line.endsWith("ok"))).toEqual([
      expect.stringMatching(/^payments, of four deliveries\s+1\s+0\s+WRONG$/),
    ]);
  });

  test("cleans up when it is interrupted", { timeout: patience * 2 }, async () => {
    const target = await database();
    const before = await schemas(target);
    const demo = await start(target.url);
    await vi.waitFor(() => expect(demo.stdout).toContain("order 1 of ada@example.com"), { timeout: patience });
    expect(await schemas(target)).not.toEqual(before);
    demo.kill("SIGINT");
    expect((await demo.exited).code).toBe(1);
    expect(await schemas(target)).toEqual(before);
  });

  test("fails when there is no such database", { timeout: patience * 2 }, async () => {
    const url = new URL(inject("postgresUrl"));
    url.pathname = "/no_such_database";
    const { exit, stderr } = await play(url.href);
    expect(exit.code).toBe(1);
    expect(stderr).toContain('database "no_such_database" does not exist');
  });
});

describe("its exit code", () => {
  const right: Figure = { what: "orders", expected: 4, counted: 4 };

  test("is 0 where every figure is right", () => {
    expect(exitCodeOf([right, { ...right, expected: 0, counted: 0 }])).toBe(0);
  });

  test("is 1 where any is off, or nothing was counted", () => {
    expect(exitCodeOf([right, { ...right, counted: 5 }])).toBe(1);
    expect(exitCodeOf([{ ...right, counted: 3 }, right])).toBe(1);
    expect(exitCodeOf([{ ...right, counted: Number.NaN }])).toBe(1);
    expect(exitCodeOf([])).toBe(1);
  });
});
