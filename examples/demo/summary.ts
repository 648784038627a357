import { and, eq, isNotNull, max, ne, sql } from "drizzle-orm";
import type { Db } from "./database.ts";
import { sendReceipt, syncLedger } from "./jobs.ts";
import { scene } from "./narrator.ts";
import { labels, ledger, orders, payments, receipts, stockCounts, tasks } from "./schema.ts";

/** What the story should have left behind, and what the tables say. */
export interface Figure {
  readonly what: string;
  readonly expected: number;
  readonly counted: number;
}

/** Reads the tables themselves: the queue's are ordinary Drizzle tables too. */
export async function countFigures(db: Db): Promise<Figure[]> {
  const isReceipt = eq(tasks.queue, sendReceipt.queue);
  const [newest] = await db.select({ id: max(orders.id) }).from(orders);
  const [ticker] = await db.select({ payload: tasks.payload }).from(tasks).where(eq(tasks.queue, syncLedger.queue));
  const cursor = (ticker?.payload as { lastOrderId: number } | undefined)?.lastOrderId;

  return [
    { what: "orders committed, of 13 placed", expected: 11, counted: await db.$count(orders) },
    { what: "receipt tasks", expected: 11, counted: await db.$count(tasks, isReceipt) },
    { what: "receipts sent", expected: 11, counted: await db.$count(receipts) },
    {
      what: "receipt tasks with a recorded failure",
      expected: 1,
      counted: await db.$count(tasks, and(isReceipt, isNotNull(tasks.errors))),
    },
    { what: "orders in the ledger", expected: 11, counted: await db.$count(ledger) },
    { what: "orders that the ticker's cursor is behind", expected: 0, counted: (newest?.id ?? 0) - (cursor ?? -1) },
    { what: "labels printed", expected: 1, counted: await db.$count(labels) },
    {
      what: "stock counts by the next one",
      expected: 1,
      counted: await db.$count(stockCounts, eq(stockCounts.countedBy, "the next one")),
    },
    { what: "stock counts in all", expected: 1, counted: await db.$count(stockCounts) },
    { what: "payments, of four deliveries", expected: 1, counted: await db.$count(payments) },
    {
      what: "jobs left undone",
      expected: 0,
      counted: await db.$count(tasks, and(eq(tasks.kind, "job"), ne(tasks.status, "completed"))),
    },
    { what: "claims left open", expected: 0, counted: await db.$count(tasks, sql`${tasks.claimToken} is not null`) },
  ];
}

/** Prints the table. */
export function printSummary(figures: readonly Figure[]): void {
  scene("Summary");
  console.log(row("", "expected", "counted", ""));
  for (const figure of figures) {
    const { what, expected, counted } = figure;
    console.log(row(what, String(expected), String(counted), isRight(figure) ? "ok" : "WRONG"));
  }
}

/** 0 where every figure is as expected, else 1. */
export function exitCodeOf(figures: readonly Figure[]): 0 | 1 {
  return figures.length > 0 && figures.every(isRight) ? 0 : 1;
}

const isRight = ({ expected, counted }: Figure) => expected === counted;
const row = (what: string, expected: string, counted: string, verdict: string) =>
  `${what.padEnd(44)}${expected.padStart(8)}${counted.padStart(9)}  ${verdict}`.trimEnd();
