import type { TableSet } from "./user-code.ts";

/** A way of putting the two tables of default names where drizzle-kit finds them. */
export interface ExportForm {
  readonly files?: Readonly<Record<string, string>>;
  /** `schema` of the config. */
  readonly schema: string | readonly string[];
  readonly set: TableSet;
}

const call = (from: string) =>
  `import { pgqueueTables } from "${from}";\nexport const { tasks, queues } = pgqueueTables();\n`;

export const exportForms: Readonly<Record<string, ExportForm>> = {
  "the two tables by name": {
    files: { "two.ts": call("pgqueue/schema") },
    schema: "./two.ts",
    set: { module: "./two.ts", exports: ["tasks", "queues"] },
  },
  'the two tables, from "pgqueue"': {
    files: { "main.ts": call("pgqueue") },
    schema: "./main.ts",
    set: { module: "./main.ts", exports: ["tasks", "queues"] },
  },
  "under names of the user's": {
    files: {
      "renamed.ts": `import { pgqueueTables } from "pgqueue/schema";
        export const { tasks: jobTasks, queues: jobQueues } = pgqueueTables();\n`,
    },
    schema: "./renamed.ts",
    set: { module: "./renamed.ts", exports: ["jobTasks", "jobQueues"] },
  },
  "all of pgqueue/schema": {
    files: { "all.ts": `export * from "pgqueue/schema";\n` },
    schema: "./all.ts",
    set: { module: "./all.ts", exports: ["tasks", "queues"] },
  },
  "the tables of pgqueue/schema": {
    files: { "named.ts": `export { queues, tasks } from "pgqueue/schema";\n` },
    schema: "./named.ts",
    set: { module: "./named.ts", exports: ["tasks", "queues"] },
  },
  "a default export": {
    files: {
      "default.ts": `import { pgqueueTables } from "pgqueue/schema";
        const { tasks, queues } = pgqueueTables();
        export default tasks;
        export { queues };\n`,
    },
    schema: "./default.ts",
    set: { module: "./default.ts", exports: ["default", "queues"] },
  },
  "pgqueue's module beside the user's": {
    files: { "constants.ts": "export const answer = 42;\n" },
    schema: ["./constants.ts", "./node_modules/pgqueue/dist/schema/index.js"],
    set: { module: "pgqueue/schema", exports: ["tasks", "queues"] },
  },
  // Not in folders of the folder: there drizzle-kit does not look.
  "a folder": {
    files: { "folder/queue.ts": call("pgqueue/schema"), "folder/constants.ts": "export const answer = 42;\n" },
    schema: "./folder",
    set: { module: "./folder/queue.ts", exports: ["tasks", "queues"] },
  },
  "a pattern": {
    files: {
      "shop/queue/queue.table.ts": call("pgqueue/schema"),
      "shop/index.ts": `export * from "./queue/queue.table.ts";\n`,
    },
    schema: "./shop/**/*.table.ts",
    set: { module: "./shop/index.ts", exports: ["tasks", "queues"] },
  },
};
