import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^pgqueue$/, replacement: source("index.ts") },
      { find: /^pgqueue\/schema$/, replacement: source("schema/index.ts") },
      { find: /^pgqueue\/testing$/, replacement: source("testing/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts", "examples/unit-tests/*.test.ts"],
    globalSetup: ["test/postgres/global-setup.ts"],
    pool: "forks",
    // Most tests wait for Postgres, so one worker a core leaves the cores idle.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    typecheck: {
      enabled: true,
      checker: "tsc",
      include: ["test/**/*.test-d.ts"],
      // `npm run check:types` reports type errors outside the type tests.
      ignoreSourceErrors: true,
    },
  },
});
