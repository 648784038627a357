/** What docs/performance.md advises for busy tables, of how full their pages are to be; a test compares the two. */
export const busyTables: readonly string[] = [
  "alter table pgqueue_tasks set (fillfactor = 45)",
  "alter index pgqueue_tasks_pkey set (fillfactor = 45)",
];
