import postgres from "postgres";
import type { Databases } from "../databases.ts";
import { MeasuredProcess } from "../measured-process.ts";
import type { Figures } from "../metrics.ts";
import { percentile } from "../statistics.ts";
import type { Contender, Scenario } from "./scenario.ts";

const limit = 10;
const warmUp = 50;

/** Rows of other tasks beside those that are due. */
const others = ["none", "completed", "failed", "future"] as const;
type Others = (typeof others)[number];

interface ClaimContender extends Contender {
  others: Others;
}

export function claimScenario(quick: boolean): Scenario {
  const count = quick ? 100_000 : 1_000_000;
  const claims = quick ? 200 : 500;
  const all = others.map((rows): ClaimContender => {
    const beside = rows === "none" ? "nothing else" : `${count.toLocaleString("en")} ${rows}`;
    return { name: `pgqueue, ${beside}`, side: "pgqueue", tuning: "statements", tasks: claims * limit, others: rows };
  });
  return {
    name: "claim",
    title: `A claim of ${limit} tasks beside rows of other tasks`,
    metric: "claimTime",
    contenders: all,
    comparisons: all.slice(1).map(({ name }) => ({ of: name, to: all[0]!.name, metric: "claimTime" })),
    measure: (databases, contender) => measure(databases, contender as ClaimContender, count, claims),
  };
}

async function measure(
  databases: Databases,
  { tasks, tuning, others }: ClaimContender,
  count: number,
  claims: number,
): Promise<Figures> {
  const database = await databases.copyOf(`claim ${others}`, async (url) => {
    const due = tasks + warmUp * limit;
    await new MeasuredProcess("fill", { side: "pgqueue", url, tuning, tasks: due }).report;
    if (others !== "none") await insertOthers(url, others, count);
  });
  const claiming = new MeasuredProcess("claim", { side: "pgqueue", url: database.url, limit, warmUp, claims });
  try {
    await claiming.ready;
    await databases.settle();
    claiming.begin();
    return { claimTime: percentile(await claiming.report, 50) };
  } finally {
    claiming.kill();
    await database.drop();
  }
}

async function insertOthers(url: string, others: Exclude<Others, "none">, count: number): Promise<void> {
  const client = postgres(url, { max: 1 });
  const hours = "(n % 1000) * interval '1 hour'";
  if (others === "future") {
    await client.unsafe(`
      insert into pgqueue_tasks (queue, payload, run_at)
      select 'benchmark', jsonb_build_object('n', n, 'to', 'nobody'), now() + interval '1 day' + ${hours}
      from generate_series(1, ${count}) as n`);
  } else {
    await client.unsafe(`
      insert into pgqueue_tasks (queue, payload, status, attempt, claims, run_at, created_at, finished_at)
      select 'benchmark', jsonb_build_object('n', n, 'to', 'nobody'), '${others}', 1, 1, at, at, at
      from generate_series(1, ${count}) as n, lateral (select now() - interval '1 day' - ${hours} as at) as moment`);
  }
  await client.end();
}
