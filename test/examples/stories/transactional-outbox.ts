import { expect } from "vitest";
import type { Story } from "./story.ts";

export const transactionalOutbox: Story = {
  name: "transactional-outbox",

  tells(lines) {
    expect(lines).toEqual([
      "a declined card: orders 0, tasks 0",
      "an order: orders 1, tasks 1",
      "an order in one statement: orders 2, tasks 2",
      "the same cart once more: orders 2, tasks 2",
      expect.stringMatching(/^task \d, try 1: /),
      expect.stringMatching(/^task \d, try 1: /),
      expect.stringMatching(/^task \d, try 2: done$/),
      "the warehouse was asked 3 times, and shipped 2 orders",
    ]);
    expect(lines.filter((line) => line.endsWith(": retry"))).toHaveLength(1);
  },

  async leaves(sql) {
    const rows = await sql`
      select cart, status, errors->0->>'message' as error from orders
      full join pgqueue_tasks on (payload->>'orderId')::int = orders.id order by cart`;
    expect(rows.map(({ cart, status }) => [cart, status])).toEqual([
      ["b", "completed"],
      ["c", "completed"],
    ]);
    expect(rows.map(({ error }) => error).filter(Boolean)).toEqual(["fetch failed"]);
  },
};
