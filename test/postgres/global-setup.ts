import type { TestProject } from "vitest/node";
import { createTemplate, dropDatabase } from "./database.ts";
import { PostgresServer } from "./server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Connection string of the server the whole run shares. */
    postgresUrl: string;
    /** Name of the database with the schema applied, which copies are made from. */
    postgresTemplate: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const external = process.env.PGQUEUE_TEST_URL;
  const server = external ? undefined : await PostgresServer.create();
  const url = external || server!.url;
  try {
    const template = await createTemplate(url);
    project.provide("postgresUrl", url);
    project.provide("postgresTemplate", template);
    return async () => {
      if (server) await server.destroy();
      else await dropDatabase(url, template);
    };
  } catch (error) {
    await server?.destroy();
    throw error;
  }
}
