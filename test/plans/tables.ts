const insert = (count: number, row: string, queue = "'q'") => `
  insert into pgqueue_tasks (queue, payload, status, run_at, priority, hash, hash_held, finished_at)
  select ${queue}, jsonb_build_object('i', g), ${row} from generate_series(1, ${count}) g;`;
const dueAt = (count: number, row: string, queue?: string) =>
  insert(count, `'pending', now() - interval '1 d' + g * interval '0.1 s', ${row}, null`, queue);
export const ready = (count: number) => dueAt(count, "g % 3, 'h' || g, true");
const finished = (count: number, ...statuses: ("completed" | "failed")[]) =>
  statuses
    .map((status) =>
      insert(
        count,
        `'${status}', now() - interval '9 d', g % 3, '${status}' || g, true, now() - interval '8 d' + g * interval '0.5 s'`,
      ),
    )
    .join("");
const future = (count: number) =>
  insert(count, `'pending', now() + g * interval '1 h', g % 3, 'later' || g, true, null`);
const queues = (count: number, each: number) =>
  dueAt(count * each, "0, null, false", `'q' || g % ${count}`) + dueAt(400, "g % 3, 'q' || g, true");
const analyze = "analyze pgqueue_tasks; analyze pgqueue_queues;";
const million = 1_000_000;

export const tables: [name: string, setup: string][] = [
  ["an empty table, never analysed", ""],
  ["300,000 ready tasks, never analysed", ready(300_000)],
  ["300,000 ready tasks", ready(300_000) + analyze],
  ["100,000 ready and 200,000 ended tasks", ready(100_000) + finished(100_000, "completed", "failed") + analyze],
  ["a million completed tasks beside a few ready ones", finished(million, "completed") + ready(400) + analyze],
  ["a million failed tasks beside a few ready ones", finished(million, "failed") + ready(400) + analyze],
  ["a million future tasks beside a few ready ones", future(million) + ready(400) + analyze],
  [
    "100,000 ready and 200,000 ended tasks, analysed while empty",
    analyze + ready(100_000) + finished(100_000, "completed", "failed"),
  ],
  ["2,000 queues of 200 ready tasks", queues(2_000, 200) + analyze],
  ["2,000 queues, of which one has grown since the last analysis", queues(2_000, 50) + analyze + ready(100_000)],
];

/** Those on which a plan for whatever values is asked for too. */
export const ofKeptPlans = new Set(["300,000 ready tasks", "100,000 ready and 200,000 ended tasks"]);
