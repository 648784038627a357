/** What is looked at of a node of `explain (format json)`. */
export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly "Conflict Arbiter Indexes"?: readonly string[];
  readonly Plans?: readonly PlanNode[];
}

/** A way in which a plan finds rows of a table. */
export interface Access {
  readonly node: string;
  readonly index?: string | undefined;
  /** Whether an index is read from end to end, as a table is. */
  readonly isWhole: boolean;
}

/**
 * How a plan finds the rows of a table, those that an insert would conflict with too. A bitmap heap scan reads what the
 * index scans below it found, which do not say of which table they are.
 */
export function accessesTo(table: string, node: PlanNode, heap?: string): Access[] {
  const { "Node Type": type, "Relation Name": relation, "Index Name": index, Plans = [] } = node;
  const below = Plans.flatMap((plan) => accessesTo(table, plan, type === "Bitmap Heap Scan" ? relation : heap));
  if ((type === "Bitmap Index Scan" ? heap : relation) !== table) return below;
  const arbiters = node["Conflict Arbiter Indexes"] ?? [];
  const met = arbiters.map((arbiter) => ({ node: "Conflict Arbiter", index: arbiter, isWhole: false }));
  const reads = type.endsWith("Scan") && type !== "Bitmap Heap Scan";
  const read = { node: type, index, isWhole: index !== undefined && node["Index Cond"] === undefined };
  return [...met, ...(reads ? [read] : []), ...below];
}

/** The plan in a row that Postgres answers `explain (format json)` with. */
export function planOf(row: unknown): PlanNode {
  const plan = (row as { "QUERY PLAN": unknown })["QUERY PLAN"];
  const [{ Plan }] = (typeof plan === "string" ? JSON.parse(plan) : plan) as [{ Plan: PlanNode }];
  return Plan;
}
