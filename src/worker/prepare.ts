import { sql } from "drizzle-orm";
import { SchemaError } from "../errors.ts";
import { primary } from "../queries/statement.ts";
import { Backoff } from "./backoff.ts";
import { throughConflicts } from "./conflict.ts";
import { isOutage, mayBeOfOneRow } from "./fault.ts";
import type { Host, Registration } from "./host.ts";

/** What has to be before the first claim: the rows of tickers, and tables that are there. Waits for a server that is away. */
export async function prepare(
  host: Host,
  registrations: readonly Registration[],
  { waits = true } = {},
): Promise<void> {
  const backoff = new Backoff();
  while (!host.closing.aborted) {
    try {
      await checkIsolation(host);
      for (const registration of registrations) if (!host.closing.aborted) await prepareSpec(host, registration);
      return;
    } catch (error) {
      if (host.closing.aborted) return;
      if (!waits || !isOutage(error)) throw error;
      host.report({ type: "error", during: "start", error });
      await backoff.wait(host.closing);
    }
  }
}

async function checkIsolation({ db, report }: Host): Promise<void> {
  const [setting] = await primary("start", db)
    .select({ isolation: sql<string>`current_setting('default_transaction_isolation')` })
    .from(sql`(select 1) as one`);
  if (!setting || setting.isolation === "read committed") return;
  const message = `the database's default isolation is "${setting.isolation}": claims will meet serialization failures and be sent again; "read committed" spares that`;
  report({ type: "warning", message });
}

async function prepareSpec({ db, pgqueue, closing, report }: Host, { spec }: Registration): Promise<void> {
  await throughConflicts(closing, async () => {
    if (spec.kind === "ticker") await pgqueue.upsertTicker(db, spec);
  });
  try {
    await throughConflicts(closing, async () => await pgqueue.reap(db, spec));
  } catch (error) {
    // Rows that a trigger or constraint of the user's refuses to have reaped, or is slow to, are no reason not to run the others.
    if (error instanceof SchemaError || (isOutage(error) && !mayBeOfOneRow(error))) throw error;
    report({ type: "error", during: "reap", queue: spec.queue, error });
  }
}
