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
    pool: "forks",
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "promises",
          include: ["test/**/*.test.ts", "examples/unit-tests/*.test.ts"],
          exclude: ["**/node_modules/**", "test/**/*.speed.test.ts"],
          globalSetup: ["test/postgres/global-setup.ts"],
          // Most tests wait for Postgres, so one worker a core leaves the cores idle.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
          typecheck: {
            enabled: true,
            checker: "tsc",
            include: ["test/**/*.test-d.ts"],
            // `npm run check:types` reports type errors outside the type tests.
            ignoreSourceErrors: true,
          },
        },
      },
      {
        extends: true,
        // When the machine has nothing else to do.
        test: {
          name: "speed",
          include: ["test/**/*.speed.test.ts"],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
