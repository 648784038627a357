import { expect } from "vitest";
import type { Story } from "./story.ts";

export const webhook: Story = {
  name: "webhook",

  tells(lines) {
    const first = 'delivered {"id":"evt_1","invoiceId":1,"cents":1250}: 200';
    expect(lines).toEqual([
      `${first} {"deduplicated":false,"isRepaired":false}`,
      `${first} {"deduplicated":true,"isRepaired":false}`,
      "task 1: completed",
      `${first} {"deduplicated":true,"isRepaired":false}`,
      expect.stringMatching(/^delivered .*"evt_2".*: 400 .*Expected number but received/),
      expect.stringMatching(/^delivered .*"invoiceId":22,.*: 200 \{"deduplicated":false,"isRepaired":false\}$/),
      "task 2: failed, Error: there is no invoice 22",
      expect.stringMatching(/^delivered .*"invoiceId":2,.*: 200 \{"deduplicated":true,"isRepaired":true\}$/),
      "task 2: completed",
      "paid: 1250 cents of invoice 1 by evt_1",
      "paid: 900 cents of invoice 2 by evt_3",
    ]);
  },

  async leaves(sql) {
    expect(await sql`select id, paid_cents from invoices order by id`).toEqual([
      { id: 1, paid_cents: 1250 },
      { id: 2, paid_cents: 900 },
    ]);
    expect(await sql`select hash, status, payload->'invoiceId' as invoice from pgqueue_tasks order by id`).toEqual([
      { hash: "evt_1", status: "completed", invoice: 1 },
      { hash: "evt_3", status: "completed", invoice: 2 },
    ]);
    // Payment and end of the task were written by the same transaction.
    const together = await sql`
      select count(*)::int from payments join pgqueue_tasks on hash = event_id where payments.xmin = pgqueue_tasks.xmin`;
    expect(together).toEqual([{ count: 2 }]);
  },
};
