import { drizzle } from "drizzle-orm/postgres-js";
import type postgres from "postgres";
import type { TestDatabase } from "../postgres/database.ts";
import { begin } from "../queries/transactions.ts";

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  Filter?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

const scans = (node: PlanNode): PlanNode[] => [
  ...(node["Node Type"].endsWith("Scan") && (node["Relation Name"] || node["Index Name"]) ? [node] : []),
  ...(node.Plans ?? []).flatMap(scans),
];

/**
 * Runs what is to be measured, and then each of its statements again to explain it, in a transaction that is undone.
 *
 * @param isGeneric whether the plan is one for whatever values, as a driver that prepares everything comes to have
 */
export async function plansOf(
  { client, db }: TestDatabase,
  run: (handle: typeof db) => PromiseLike<unknown>,
  { isGeneric = false } = {},
) {
  const sent: [query: string, params: unknown[]][] = [];
  const first = await begin(drizzle(client, { logger: { logQuery: (...query) => sent.push(query) } }));
  sent.length = 0;
  await run(first.tx as never);
  const statements = sent.slice();
  await first.rollback();

  const plans: PlanNode[] = [];
  const undone = new Error("undone");
  await client
    .begin(async (sql) => {
      if (isGeneric) await sql`set local plan_cache_mode = force_generic_plan`;
      for (const [i, [query, params]] of statements.entries()) {
        const [row] = isGeneric
          ? await explainPrepared(sql, `statement_${i}`, query, params)
          : await sql.unsafe(`explain ${options} ${query}`, params as never[]);
        plans.push(row!["QUERY PLAN"][0].Plan);
      }
      throw undone;
    })
    .catch((error) => {
      if (error !== undone) throw error;
    });
  return plans.flatMap(scans).map((scan) => ({
    type: scan["Node Type"],
    relation: scan["Relation Name"],
    index: scan["Index Name"],
    isGeneric: /\$\d/.test(scan.Filter ?? ""),
    rows:
      scan["Node Type"] === "Bitmap Index Scan"
        ? 0
        : scan["Actual Loops"] *
          (scan["Actual Rows"] + (scan["Rows Removed by Filter"] ?? 0) + (scan["Rows Removed by Index Recheck"] ?? 0)),
  }));
}

const options = "(analyze, buffers off, format json)";

async function explainPrepared(sql: postgres.TransactionSql, name: string, query: string, params: readonly unknown[]) {
  const values = params.map((param) => (param === null ? "null" : `'${String(param).replaceAll("'", "''")}'`));
  await sql.unsafe(`prepare ${name} as ${query}`);
  const rows = await sql.unsafe(`explain ${options} execute ${name}${values.length > 0 ? `(${values})` : ""}`);
  await sql.unsafe(`deallocate ${name}`);
  return rows;
}
