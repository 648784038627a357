import type { Database, Databases } from "../databases.ts";
import { MeasuredProcess } from "../measured-process.ts";
import type { Figures } from "../metrics.ts";
import { loadSide } from "../sides/load.ts";
import { costs } from "./costs.ts";
import { type Contender, contenders, firstToOthers, type Scenario } from "./scenario.ts";

interface Enqueuing {
  callers: number;
  many: boolean;
  /** How many tasks are enqueued before, into another database. */
  warmUp: number;
}

export function enqueueScenarios(quick: boolean): Scenario[] {
  const many = quick ? 50_000 : 100_000;
  return [
    scenario("enqueue", "Enqueue one task at a time", quick ? 1_000 : 5_000, {
      callers: 1,
      many: false,
      warmUp: 1_000,
    }),
    scenario("enqueue-10", "Enqueue one task at a time, 10 callers", quick ? 3_000 : 10_000, {
      callers: 10,
      many: false,
      warmUp: 1_000,
    }),
    scenario("enqueue-many", `Enqueue ${many.toLocaleString("en")} tasks in one call`, many, {
      callers: 1,
      many: true,
      warmUp: 10_000,
    }),
  ];
}

function scenario(name: string, title: string, tasks: number, enqueuing: Enqueuing): Scenario {
  const all = contenders(["pgqueue", "graphile-worker", "pg-boss"], "statements", tasks);
  return {
    name,
    title,
    metric: "rate",
    contenders: all,
    comparisons: firstToOthers(all, "rate"),
    measure: (databases, contender) => measure(databases, contender, enqueuing),
  };
}

async function measure(
  databases: Databases,
  { side, tuning, tasks }: Contender,
  { callers, many, warmUp }: Enqueuing,
): Promise<Figures> {
  const database = await databases.filled(side, tuning, 0);
  const other = await databases.filled(side, tuning, 0);
  const input = { side, url: database.url, warmUp: { url: other.url, tasks: warmUp }, tasks, callers, many };
  const enqueuing = new MeasuredProcess("enqueue", input);
  try {
    await enqueuing.ready;
    await databases.settle();
    const before = await databases.work(database);
    enqueuing.begin();
    const { elapsed, cpu } = await enqueuing.report;
    const after = await databases.work(database);
    await checkEnqueued(database, (await loadSide(side)).countTasks, tasks + callers);
    return {
      rate: (tasks / elapsed) * 1_000,
      ...costs(before, after, cpu, tasks),
    };
  } finally {
    enqueuing.kill();
    await database.drop();
    await other.drop();
  }
}

async function checkEnqueued(database: Database, countTasks: string, expected: number): Promise<void> {
  const enqueued = await database.count(countTasks);
  if (enqueued !== expected) throw new Error(`There are ${enqueued} tasks, not ${expected}.`);
}
