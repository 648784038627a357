import { expect } from "vitest";
import type { Story } from "./story.ts";

export const tickerCursor: Story = {
  name: "ticker-cursor",

  tells(lines) {
    expect(lines).toEqual([
      "a tick",
      "  try 1: done",
      '  2 contacts, payload {"cursor":2}',
      "one that dies before its commit",
      "  try 1: retry",
      "  Error: died before the commit",
      '  2 contacts, payload {"cursor":2}',
      "its next try",
      "  try 2: done",
      '  4 contacts, payload {"cursor":4}',
      "one that dies after its commit",
      "  Error: died after the commit",
      "  try 1: done",
      '  5 contacts, payload {"cursor":5}',
      "one that finds nothing new",
      "  try 1: done",
      '  5 contacts, payload {"cursor":5}',
    ]);
  },

  async leaves(sql) {
    expect((await sql`select name from contacts order by id`).map(({ name }) => name)).toEqual([
      "Ada",
      "Bob",
      "Cleo",
      "Dan",
      "Eve",
    ]);
    expect(await sql`select payload, status from pgqueue_tasks`).toEqual([
      { payload: { cursor: 5 }, status: "pending" },
    ]);
  },
};
