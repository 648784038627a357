import type postgres from "postgres";
import { afterClosings } from "../../src/worker/turn.ts";

/**
 * What really happened, written by the handlers themselves: each run, and each effect that must not happen twice. Times are
 * milliseconds of the one clock that all processes of this machine and its server share.
 */
export async function createLedger(client: postgres.Sql): Promise<void> {
  await client.unsafe(`
    create table runs (
      run uuid primary key, task bigint not null, process text not null, attempt int not null, claims int not null,
      began float8 not null, lease_until float8 not null, ended float8, outcome text);
    create index on runs (task, began);
    create table effects (task bigint not null, run uuid not null);
    create table processes (process text primary key, ended float8);`);
}

export interface Run {
  readonly id: string;
  /** Writes down how it ended; tries until it is written or the signal fires. */
  end(outcome: string, signal: AbortSignal): Promise<void>;
}

/** Writes down that a run begins, with the claim that the row bears at this moment. */
export async function beginRun(
  client: postgres.Sql,
  { process, task, attempt }: { process: string; task: number; attempt: number },
  signal: AbortSignal,
): Promise<Run> {
  const id = crypto.randomUUID();
  const began = Date.now();
  const run: Run = {
    id,
    async end(outcome, signal) {
      const ended = Date.now();
      await afterClosings();
      for (;;) {
        try {
          await client`update runs set ended = ${ended}, outcome = ${outcome} where run = ${id}`;
          return;
        } catch (error) {
          if (signal.aborted) throw error;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    },
  };
  try {
    await client`
      insert into runs (run, task, process, attempt, claims, began, lease_until)
      select ${id}, id, ${process}, ${attempt}, claims, ${began}, extract(epoch from lease_until) * 1000
      from pgqueue_tasks where id = ${task} and status = 'running'`;
    return run;
  } catch (error) {
    // It may be there all the same, without any work done.
    await run.end("not begun", signal);
    throw error;
  }
}

export interface Audited {
  queue: string;
  /** Tasks that an event called lost. */
  lost?: readonly number[];
}

/** Everything that is not as promised, in words. */
export async function audit(client: postgres.Sql, { queue, lost = [] }: Audited): Promise<string[]> {
  const offenders: string[] = [];
  const check = async (complaint: string, rows: PromiseLike<readonly Record<string, unknown>[]>) => {
    for (const row of await rows) offenders.push(`${complaint}: ${JSON.stringify(row)}`);
  };
  await check(
    "two holders at a time",
    client`
      select task, run, previous_end - began as overlap_ms from (
        select task, run, began, max(least(coalesce(r.ended, p.ended, 'infinity'), lease_until)) over (
          partition by task order by began, run rows between unbounded preceding and 1 preceding) as previous_end
        from runs r left join processes p using (process)) as held
      where began < previous_end limit 50`,
  );
  await check(
    "not ended as its kind asks for",
    client`
      select id as task, status, attempt, claims, payload ->> 'kind' as kind, errors -> 0 ->> 'message' as error
      from pgqueue_tasks where queue = ${queue}
        and status <> case when payload ->> 'kind' in ('fail', 'poison') then 'failed' else 'completed' end limit 50`,
  );
  await check(
    "ended without a run",
    client`
      select id as task, status from pgqueue_tasks t where queue = ${queue}
        and not exists (select 1 from runs where task = t.id and outcome is distinct from 'not begun') limit 50`,
  );
  await check(
    "completed without a run that was done",
    client`
      select id as task from pgqueue_tasks t
      where queue = ${queue} and status = 'completed' and payload ->> 'kind' in ('ok', 'flaky')
        and not exists (select 1 from runs where task = t.id and outcome = 'done') limit 50`,
  );
  await check(
    "an effect that did not happen exactly once",
    client`
      select id as task, (select count(*) from effects where task = t.id) as effects from pgqueue_tasks t
      where queue = ${queue} and payload ->> 'kind' in ('transactional', 'dies after finalize')
        and (select count(*) from effects where task = t.id) <> 1 limit 50`,
  );
  await check(
    "failed by crashes without an error that says so",
    client`
      select id as task, errors from pgqueue_tasks
      where queue = ${queue} and payload ->> 'kind' = 'poison' and errors -> 0 ->> 'name' <> 'LeaseExpiredError' limit 50`,
  );
  await check(
    "called lost although nobody else had it",
    client`
      select id as task, status, claims from pgqueue_tasks
      where claims < 2 and id = any(array(select jsonb_array_elements_text(${JSON.stringify(lost)}::text::jsonb)::bigint))`,
  );
  return offenders;
}
