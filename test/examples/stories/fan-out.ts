import { expect } from "vitest";
import type { Story } from "./story.ts";

export const fanOut: Story = {
  name: "fan-out",

  tells(lines) {
    expect(lines).toEqual([
      "issue 7: 2 tasks added",
      "once more: 0 tasks added",
      "with a new subscriber: 1 tasks added",
      "uploads: 2 expired, 1 left",
      'send-issue 7:1 {"to":"ada@example.com","title":"Spring"} at 2100-03-20T06:00:00.000Z',
      'send-issue 7:2 {"to":"bob@example.com","title":"Spring"} at 2100-03-20T06:00:00.000Z',
      expect.stringMatching(/^send-issue 7:4 \{"to":"cleo@example.com",/),
      'remove-file null {"path":"a.png"} now',
      'remove-file null {"path":"b.png"} now',
    ]);
  },

  async leaves(sql) {
    expect(await sql`select path from uploads`).toEqual([{ path: "c.png" }]);
    expect(await sql`select queue, count(*)::int from pgqueue_tasks group by queue order by queue`).toEqual([
      { queue: "remove-file", count: 2 },
      { queue: "send-issue", count: 3 },
    ]);
  },
};
