import { sql } from "drizzle-orm";
import { ConflictError, OptionsError } from "../errors.ts";
import { encodePayload } from "../tasks/payload.ts";
import type { TickerSpec } from "../tasks/spec.ts";
import type { Binding } from "./binding.ts";
import { statementTime } from "./clock.ts";
import { type Enqueued, mostRounds } from "./enqueued.ts";
import { extraParams, extraValues, insertTasks } from "./insertion.ts";
import { type Db, type DrizzleDb, primary, uncached } from "./statement.ts";

/** Reads first: an insert would wait for any open transaction that has touched the row, at each start of each worker. */
export async function upsertTicker(binding: Binding, db: Db, spec: TickerSpec<any, any, any>): Promise<Enqueued> {
  if (spec?.kind !== "ticker") throw new OptionsError("upsertTicker.spec", spec, "a spec made by defineTicker");
  const { json } = encodePayload(spec, spec.initialPayload, "initialPayload");
  const columns = extraParams(
    binding,
    extraValues(`upsertTicker(${JSON.stringify(spec.queue)})`, binding, spec.columns),
  );
  const values = {
    queue: sql`${spec.queue}::text`,
    kind: sql`'ticker'`,
    key: sql`${spec.key}::text`,
    payload: sql`${json}::text::jsonb`,
    runAt: statementTime(),
    createdAt: statementTime(),
    ...columns,
  };
  const handle = primary("upsertTicker", db);
  const { id, status } = binding.tasks;
  for (let round = 0; round < mostRounds; round++) {
    const row = await readTicker(binding, handle, spec);
    if (row) return { ...row, deduplicated: true };
    const [inserted] = await insertTasks(binding, handle, values, { unique: "key" }).returning({ id, status });
    if (inserted) return { ...inserted, deduplicated: false };
  }
  throw new ConflictError(
    `ticker ${JSON.stringify(spec.key)} of queue "${spec.queue}" exists, but this role or transaction cannot see it; look for a row-level security policy`,
  );
}

async function readTicker({ tasks }: Binding, handle: DrizzleDb, spec: TickerSpec) {
  const isTicker = sql`${tasks.queue} = ${spec.queue} and ${tasks.key} = ${spec.key}`;
  const [row] = await uncached(handle.select({ id: tasks.id, status: tasks.status }).from(tasks).where(isTicker));
  return row;
}
