import type { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import { type Database, type Driver, unprepared } from "../driver.ts";

/** Another version, where one is named. */
const module: string = process.env.PGLITE_MODULE ?? "@electric-sql/pglite";

export const driver: Driver = {
  lacks: () => ({ connections: "PGlite has one connection", generic: unprepared }),
  async open() {
    const { PGlite: Client } = (await import(module)) as { PGlite: typeof PGlite };
    const client = await Client.create();
    return { db: drizzle({ client }) as unknown as Database, close: () => client.close() };
  },
};
