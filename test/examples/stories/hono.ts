import { expect } from "vitest";
import type { Story } from "./story.ts";

export const hono: Story = {
  name: "hono",

  tells(lines) {
    const mail = "mail to ada@example.com: Thank you for order 1.";
    // The worker may be faster than the answer.
    expect(lines.filter((line) => line === mail)).toHaveLength(1);
    expect(lines.filter((line) => line !== mail)).toEqual([
      expect.stringMatching(/^POST \/orders: 400 .*Invalid email/),
      'POST /orders: 202 {"orderId":1,"taskId":1}',
      'GET /tasks/1: 200 {"status":"completed","output":{"sentTo":"ada@example.com"}}',
      'GET /tasks/999: 404 {"error":"there is no such task"}',
      "the server is closed",
      "the worker has stopped",
      "the database is closed",
    ]);
  },

  async leaves(sql) {
    expect(await sql`select email from orders`).toEqual([{ email: "ada@example.com" }]);
    expect(await sql`select status, attempt from pgqueue_tasks`).toEqual([{ status: "completed", attempt: 1 }]);
  },
};
