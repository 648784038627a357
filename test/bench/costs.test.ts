import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bench } from "./modules.ts";

const { costs, workersCosts } = await bench("scenarios/costs.ts");
const { Databases } = await bench("databases.ts");
const { startServer } = await bench("server.ts");

let server: { url: string; pid: number; stop(): Promise<void> };
let databases: any;

beforeAll(async () => {
  server = await startServer();
  databases = new Databases(server);
});

afterAll(async () => {
  await databases.end();
  await server.stop();
});

test("costs are for each task: CPU in microseconds, WAL in bytes", () => {
  const before = { walBytes: 1_000, statements: 10, cpu: 100 };
  const after = { walBytes: 6_000, statements: 20, cpu: 140 };
  const each = { workerCpu: 60, serverCpu: 80, walBytes: 10, statements: 0.02 };
  expect(costs(before, after, 30, 500)).toEqual(each);
  const { serverCpu: _, ...withoutServer } = each;
  expect(costs({ ...before, cpu: undefined }, after, 30, 500)).toEqual(withoutServer);
  const reports = [
    { seen: [], cpu: 10, peakMemory: 90_000_000 },
    { seen: [], cpu: 20, peakMemory: 120_000_000 },
  ];
  expect(workersCosts(before, after, reports, 500)).toEqual({ ...each, peakMemory: 120 });
});

/** Whether the server had planned its checks of the foreign key before the counting begins: it shows them differently. */
test.for([true, false])(
  "a server's work is counted in the database of the side alone; planned: %s",
  async (planned) => {
    const [database, other] = [await databases.copyOf("tasks", build), await databases.copyOf("tasks", build)];
    const connect = ({ url }: { url: string }) => postgres(url, { max: 1, fetch_types: false });
    const [client, elsewhere] = [connect(database), connect(other)];
    const enqueue = async (n: number) => {
      await client`insert into tasks values (${n}, ${"x".repeat(1_000)})`;
      await client`insert into logs values (${n})`;
    };
    if (planned) await enqueue(0);
    await databases.settle();
    const before = await databases.work(database);
    const tasks = 200;
    await elsewhere`select 1`;
    for (let n = 1; n <= tasks; n++) await enqueue(n);
    // By the connection of the benchmark, which does not count.
    expect(await database.count("select count(*)::int from logs")).toBe(tasks + Number(planned));
    const after = await databases.work(database);
    await Promise.all([client.end(), elsewhere.end()]);
    const { statements, walBytes, serverCpu } = costs(before, after, 0, tasks);
    expect(statements).toBe(2);
    expect(walBytes).toBeGreaterThan(1_000);
    expect(walBytes).toBeLessThan(10_000);
    if (process.platform === "linux") expect(serverCpu).toBeGreaterThan(0);
    await Promise.all([database.drop(), other.drop()]);
  },
);

/** Its foreign key is checked at the commit, by a statement of the server's own. */
async function build(url: string): Promise<void> {
  const client = postgres(url, { max: 1 });
  await client`create table tasks (n int primary key, payload text)`;
  await client`create table logs (n int references tasks deferrable initially deferred)`;
  await client.end();
}
