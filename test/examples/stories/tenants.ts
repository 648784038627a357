import { expect } from "vitest";
import type { Story } from "./story.ts";

export const tenants: Story = {
  name: "tenants",

  tells(lines) {
    const isWork = (line: string) => line.includes(" goes to ");
    expect(lines.filter(isWork).sort()).toEqual([
      "acme: invoice 1 goes to ada@acme.example",
      "acme: invoice 2 goes to bob@acme.example",
      "globex: invoice 3 goes to gus@globex.example",
    ]);
    expect(lines.filter((line) => !isWork(line))).toEqual([
      "acme sees 2 tasks",
      "globex sees 1 tasks",
      "nobody sees 0 tasks",
      expect.stringMatching(
        /^acme enqueues for globex: .*violates row-level security policy for table "pgqueue_tasks"/,
      ),
      "pgqueue_example_worker sees 3 tasks, 2 of acme",
      "task 1 of Acme Ltd: completed",
      "task 2 of Acme Ltd: completed",
      "task 3 of Globex Inc: completed",
      "listTasks with where: 2 of acme",
    ]);
  },

  async leaves(sql) {
    expect(await sql`select tenant_id, status from pgqueue_tasks order by id`).toEqual([
      { tenant_id: "acme", status: "completed" },
      { tenant_id: "acme", status: "completed" },
      { tenant_id: "globex", status: "completed" },
    ]);
    await sql`set role pgqueue_example_app`;
    expect(await sql`select from pgqueue_tasks`).toHaveLength(0);
    await expect(sql`update pgqueue_tasks set priority = 9`).rejects.toThrow("permission denied");
  },
};
